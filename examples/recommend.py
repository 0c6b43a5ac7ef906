"""Ratings in, lists out: train, look at the scores, recommend to someone new, save."""

from nanwise import load, save
from nanwise.bench.recommend import recommend
from nanwise.data.ratings import synthetic_ratings

# Made-up ratings with little taste in them, so plain biases are hard to beat; on MovieLens the
# network is clearly ahead of them.
ratings = synthetic_ratings(800, 120, 30_000, random_state=0)  # or read_ratings("ratings.csv")
print(ratings)

params = {"hidden": 30, "penalty": 50.0, "plan": {"epochs": 150, "lr": 0.01}}
found = recommend(ratings, "autorec", params, k=10)
for row in found.facts["scores"]:
    print(f"{row['method']:<24} RMSE {row['rmse']:.3f}  NDCG@10 {row['ndcg']:.3f}")
for name, stress in found.facts["stress"].items():
    print(f"{name}: the mean prediction moves by {-stress['slope']:+.4f} per 10 % ratings hidden")

save(found.model, "model")
model = load("model")
print("user 1:", model.recommend([1], n=5)["item"].tolist())
print("someone new:", model.recommend_for({5: 4.5, 17: 1.0}, n=5)["item"].tolist())
