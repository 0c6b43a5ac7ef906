/* The arithmetic of _windows.c, which includes this, for LANES lanes: there and back through a
 * picture. */

typedef float NAME(vec) __attribute__((vector_size(LANES * 4)));
typedef float NAME(loose) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4)));
#define vec NAME(vec)
#define loose NAME(loose)
#define ints NAME(ints)
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE vec NAME(load)(const float *from) { return *(const loose *)from; }
#define load NAME(load)

INLINE void NAME(store)(float *to, vec what) { *(loose *)to = what; }
#define store NAME(store)

INLINE vec NAME(every)(float number) { return number - (vec){0}; }
#define every NAME(every)

INLINE vec NAME(choose)(ints which, vec yes, vec no) {
    return (vec)(((ints)yes & which) | ((ints)no & ~which));
}
#define choose NAME(choose)

/* max(0, x); a NaN stays. */
INLINE vec NAME(relu)(vec x) { return choose(x < 0.0f, every(0.0f), x); }
#define relu NAME(relu)

INLINE vec NAME(root)(vec x) {
    for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
}
#define root NAME(root)

INLINE float NAME(total)(vec x) {
    float sum = 0.0f;
    for (int i = 0; i < LANES; i++) sum += x[i];
    return sum;
}
#define total NAME(total)

/* exp(x) for x from -87 to 0: a power of two times a polynomial (that of Cephes). */
INLINE vec NAME(exponential)(vec x) {
    const vec magic = every(12582912.0f); /* adding it rounds to whole numbers */
    const vec shifted = x * 1.44269504f + magic;
    const vec whole = shifted - magic;
    const vec r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    vec p = every(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return p * (vec)(((ints)shifted - 0x4b400000 + 127) << 23);
}
#define exponential NAME(exponential)

/* Of a normal variable with mean m and standard deviation s, z = |m| / s. */
typedef struct {
    vec deviation, bell, tail; /* s, density and upper tail of the standard normal at z */
    vec excess;                /* E max(0, x) - max(0, m) = s (bell - z tail) */
} NAME(Normal);
#define Normal NAME(Normal)

/* Exact where v = 0 (rounding may bring it below, which is 0 too), and no excess is negative. The
 * tail over exp(-z^2 / 2) is a polynomial in 1 / (1 + .35 z), fitted on 0 to 13 to a relative error
 * of 6e-8; beyond, all is 0. A NaN stays one. */
INLINE Normal NAME(normal)(vec m, vec v) {
    const float smallest = 1.17549435e-38f;
    Normal it;
    it.deviation = root(relu(v));
    const vec size = choose(m < 0.0f, -m, m);
    vec z = size / choose(it.deviation < smallest, every(smallest), it.deviation);
    z = choose(z > 13.0f, every(13.0f), z);
    const vec e = exponential(-0.5f * z * z), t = 1.0f / (1.0f + 0.35f * z);
    vec p = every(-0.02910919114947319f);
    p = p * t + 0.14378945529460907f;
    p = p * t - 0.2553297281265259f;
    p = p * t + 0.15872472524642944f;
    p = p * t - 0.022792525589466095f;
    p = p * t + 0.10536991059780121f;
    p = p * t + 0.1198689192533493f;
    p = p * t + 0.1398567259311676f;
    p = p * t + 0.13962170481681824f;
    it.bell = 0.3989422804f * e;
    it.tail = p * t * e;
    it.excess = it.deviation * relu(it.bell - z * it.tail);
    return it;
}
#define normal NAME(normal)

/* What a block of outputs answers to LANES windows, without the bias. */
INLINE void NAME(answers)(const float *pixels, const int64_t *offsets, int64_t taps,
                          const float *w, vec answers[BLOCK]) {
    vec a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0};
    for (int64_t tap = 0; tap < taps; tap++, w += BLOCK) {
        const vec x = load(pixels + offsets[tap]);
        a += x * w[0], b += x * w[1], c += x * w[2], d += x * w[3];
        e += x * w[4], f += x * w[5], g += x * w[6], h += x * w[7];
    }
    answers[0] = a, answers[1] = b, answers[2] = c, answers[3] = d;
    answers[4] = e, answers[5] = f, answers[6] = g, answers[7] = h;
}
#define answers NAME(answers)

/* -- forward -------------------------------------------------------------------------------------- */

/* LANES windows in flat order, from q on, into their places of an output. */
INLINE void NAME(put)(const View *view, int64_t q, vec what, float *map, int64_t columns) {
    int64_t row = view->box.top + q / view->pitch, column = q % view->pitch;
    float *to = map + row * columns + view->box.left;
    if (column + LANES <= view->columns) {
        store(to + column, what);
        return;
    }
    float lanes[LANES];
    store(lanes, what);
    for (int64_t i = 0; i < LANES && row < view->box.bottom; row++, to += columns) {
        const int64_t many = least(view->columns - column, LANES - i);
        for (int64_t j = 0; j < many; j++) to[column + j] = lanes[i + j];
        i += view->pitch - column;
        column = 0;
    }
}
#define put NAME(put)

/* Convolution and ReLU of all windows, as if no hole were there. */
INLINE void NAME(plain)(const Job *job, const Picture *it, const Block *block, float *out) {
    const View *view = &it->whole;
    const float *pixels = it->pixels + block->group * view->group;
    vec m[BLOCK];
    for (int64_t q = 0; q < view->flat; q += LANES) {
        answers(pixels + q, view->offsets, job->taps, block->weights, m);
        for (int64_t i = 0; i < block->many; i++)
            put(view, q, relu(m[i] + block->bias[i]), out + i * map_size(job), job->columns);
    }
}

/* Means and variances of LANES windows of a component; if asked for, answers to its factors. */
INLINE void NAME(moments)(const Job *job, const View *view, const Block *block, const float *pixels,
                          vec m[BLOCK], vec v[BLOCK], float *factors) {
    vec a[BLOCK];
    answers(pixels + view->map, view->offsets, job->taps, block->squares, v);
    for (int64_t j = 0; j < job->rank; j++) {
        answers(pixels + (j + 2) * view->map, view->offsets, job->taps, block->weights, a);
        for (int i = 0; i < BLOCK; i++) {
            v[i] += a[i] * a[i];
            if (factors) store(factors + (j * BLOCK + i) * TILE, a[i]);
        }
    }
    answers(pixels, view->offsets, job->taps, block->weights, m);
    for (int i = 0; i < BLOCK; i++) m[i] += block->bias[i];
}
#define moments NAME(moments)

/* Expected ReLU of the windows around the hole. */
INLINE void NAME(expected)(const Job *job, const Picture *it, const Block *block, float *out) {
    const View *view = &it->inside;
    const int64_t component = (job->rank + 2) * view->map;
    const float *weights = job->weights + it->number * job->weights_step;
    vec m[BLOCK], v[BLOCK], sum[BLOCK];
    for (int64_t q = 0; q < view->flat; q += LANES) {
        const float *pixels = it->maps + block->group * view->group + q;
        for (int i = 0; i < BLOCK; i++) sum[i] = every(0.0f);
        for (int64_t k = 0; k < job->components; k++, pixels += component) {
            moments(job, view, block, pixels, m, v, NULL);
            for (int i = 0; i < BLOCK; i++)
                sum[i] += weights[k] * (relu(m[i]) + normal(m[i], v[i]).excess);
        }
        for (int64_t i = 0; i < block->many; i++)
            put(view, q, relu(sum[i]), out + i * map_size(job), job->columns);
    }
}

TARGET static int NAME(forward)(const Job *job, int64_t n, int64_t first, int64_t last, Own *own) {
    Picture it;
    if (!open_picture(job, n, 0, own, &it)) return 0;
    for (int64_t number = first; number < last; number++) {
        const Block block = block_of(job, number);
        float *out = job->out + (n * job->outputs + block.first) * map_size(job);
        NAME(plain)(job, &it, &block, out);
        if (it.hole) NAME(expected)(job, &it, &block, out);
    }
    return 1;
}

/* -- back ----------------------------------------------------------------------------------------- */

/* TILE windows of an output in flat order, from q on; 0 where there is none. */
INLINE void NAME(take)(const View *view, int64_t q, const float *map, int64_t columns, float *to) {
    int64_t row = view->box.top + q / view->pitch, column = q % view->pitch;
    memset(to, 0, sizeof(float) * TILE);
    for (int64_t i = 0; i < TILE && row < view->box.bottom; row++) {
        const float *from = map + row * columns + view->box.left + column;
        const int64_t many = least(view->columns - column, TILE - i);
        for (int64_t j = 0; j < many; j++) to[i + j] = from[j];
        i += view->pitch - column;
        column = 0;
    }
}
#define take NAME(take)

/* Outputs whose gradients are summed together: as many as there are registers for. */
#define TOGETHER (LANES == WIDEST ? BLOCK : BLOCK / 2)

/* Add to sums (BLOCK, taps, LANES), over windows, gradients (BLOCK, TILE) times what a tap sees. */
INLINE void NAME(products)(const float *grads, const float *pixels, int64_t windows,
                           const int64_t *offsets, int64_t taps, float *sums) {
    for (int64_t tap = 0; tap < taps; tap += TRIPLE) {
        const float *x = pixels + offsets[tap], *y = pixels + offsets[tap + 1];
        const float *z = pixels + offsets[tap + 2];
        for (int64_t first = 0; first < BLOCK; first += TOGETHER) {
            vec found[TOGETHER][TRIPLE] = {{{0}}};
            for (int64_t q = 0; q < windows; q += LANES) {
                const vec a = load(x + q), b = load(y + q), c = load(z + q);
                for (int i = 0; i < TOGETHER; i++) {
                    const vec grad = load(grads + (first + i) * TILE + q);
                    found[i][0] += grad * a, found[i][1] += grad * b, found[i][2] += grad * c;
                }
            }
            for (int i = 0; i < TOGETHER; i++)
                for (int j = 0; j < TRIPLE; j++) {
                    float *to = sums + ((first + i) * taps + tap + j) * LANES;
                    store(to, load(to) + found[i][j]);
                }
        }
    }
}
#define products NAME(products)

/* Add to planes what gradients (BLOCK, TILE) pass on to each tap. */
INLINE void NAME(pass_on)(const float *grads, const float *weights, int64_t windows,
                          const int64_t *offsets, int64_t taps, float *planes) {
    for (int64_t tap = 0; tap < taps; tap++, weights += BLOCK)
        for (int64_t q = 0; q < windows; q += LANES) {
            float *to = planes + offsets[tap] + q;
            vec sum = load(to);
            for (int i = 0; i < BLOCK; i++) sum += load(grads + i * TILE + q) * weights[i];
            store(to, sum);
        }
}
#define pass_on NAME(pass_on)

INLINE void NAME(to_bias)(const float *grads, Block *block) {
    for (int i = 0; i < BLOCK; i++) {
        vec sum = {0};
        for (int64_t q = 0; q < TILE; q += LANES) sum += load(grads + i * TILE + q);
        block->bias_grad[i] += total(sum);
    }
}
#define to_bias NAME(to_bias)

/* Gradients of the windows that see no hole. */
INLINE void NAME(plain_back)(const Job *job, const Picture *it, Block *block, const float *grad,
                             const float *out) {
    const View *view = &it->whole;
    const Box *box = &it->inside.box; /* empty without a hole */
    const int64_t size = map_size(job), group = block->group * view->group;
    memset(it->tile, 0, sizeof(float) * BLOCK * TILE);
    for (int64_t start = 0; start < view->flat; start += TILE) {
        const int64_t windows = least(TILE, view->flat - start), at = group + start;
        for (int64_t i = 0; i < block->many; i++) {
            float *to = it->tile + i * TILE;
            take(view, start, grad + i * size, job->columns, it->asked);
            take(view, start, out + i * size, job->columns, to);
            for (int64_t q = 0; q < TILE; q++) to[q] = to[q] <= 0.0f ? 0.0f : it->asked[q];
            for (int64_t y = box->top; y < box->bottom; y++) {
                const int64_t row = y * view->pitch - start;
                const int64_t end = least(TILE, row + box->right);
                for (int64_t q = most(0, row + box->left); q < end; q++) to[q] = 0.0f;
            }
        }
        to_bias(it->tile, block);
        products(it->tile, it->pixels + at, windows, view->offsets, job->padded_taps, it->sums);
        if (it->pixels_grad)
            pass_on(it->tile, block->weights, windows, view->offsets, job->taps,
                    it->pixels_grad + at);
    }
}

/* Gradients of a tile of windows around the hole in each map of a component, into the tile; returns
 * the sum of gradients times expected ReLUs. */
INLINE double NAME(slopes)(const Job *job, const Picture *it, const Block *block,
                           const float *pixels, int64_t windows, float share) {
    float *means = it->tile, *noise = means + BLOCK * TILE, *factors = noise + BLOCK * TILE;
    vec m[BLOCK], v[BLOCK], answered = {0};
    for (int64_t q = 0; q < windows; q += LANES) {
        moments(job, &it->inside, block, pixels + q, m, v, factors + q);
        for (int64_t i = 0; i < BLOCK; i++) {
            const vec asked = load(it->asked + i * TILE + q);
            const Normal at = normal(m[i], v[i]);
            const vec in_mean = choose(m[i] < 0.0f, at.tail, 1.0f - at.tail);
            /* none in v where a window is certain: it would be infinite if m = 0 */
            const vec in_variance =
                choose(v[i] <= 0.0f, every(0.0f), 0.5f * at.bell / at.deviation);
            store(means + i * TILE + q, share * asked * in_mean);
            store(noise + i * TILE + q, share * asked * in_variance);
            answered += asked * (relu(m[i]) + at.excess);
        }
        for (int64_t row = 0; row < job->rank * BLOCK; row++) { /* of v in an answer: twice it */
            float *to = factors + row * TILE + q;
            store(to, 2.0f * load(to) * load(noise + row % BLOCK * TILE + q));
        }
    }
    for (int64_t q = round_up(windows, LANES); q < TILE; q += LANES)
        for (int64_t i = 0; i < BLOCK; i++) store(means + i * TILE + q, every(0.0f));
    return total(answered);
}

/* Gradients of the windows around the hole. */
INLINE void NAME(expected_back)(const Job *job, const Picture *it, Block *block,
                                const float *grad) {
    const View *view = &it->inside;
    const int64_t maps = job->rank + 2, n = it->number;
    for (int64_t start = 0; start < view->flat; start += TILE) {
        const int64_t windows = least(TILE, view->flat - start);
        memset(it->asked, 0, sizeof(float) * BLOCK * TILE);
        for (int64_t i = 0; i < block->many; i++)
            take(view, start, grad + i * map_size(job), job->columns, it->asked + i * TILE);
        for (int64_t k = 0; k < job->components; k++) {
            int64_t at = k * maps * view->map + block->group * view->group + start;
            const float share = job->weights[n * job->weights_step + k];
            const double sum = NAME(slopes)(job, it, block, it->maps + at, windows, share);
            if (job->weights_grad) job->weights_grad[n * job->components + k] += (float)sum;
            to_bias(it->tile, block);
            for (int64_t map = 0; map < maps; map++, at += view->map) {
                const int noise = map == 1;
                const float *grads = it->tile + map * BLOCK * TILE;
                products(grads, it->maps + at, windows, view->offsets, job->padded_taps,
                         noise ? it->square_sums : it->sums);
                if (it->maps_grad && (map == 0 || job->means_grad))
                    pass_on(grads, noise ? block->squares : block->weights, windows, view->offsets,
                            job->taps, it->maps_grad + at);
            }
        }
    }
}

TARGET static int NAME(backward)(const Job *job, int64_t n, int64_t first, int64_t last,
                                 Own *own) {
    Picture it;
    if (!open_picture(job, n, 1, own, &it)) return 0;
    for (int64_t number = first; number < last; number++) {
        Block block = block_of(job, number);
        const int64_t at = (n * job->outputs + block.first) * map_size(job);
        memset(it.sums, 0, sizeof(float) * 2 * BLOCK * job->padded_taps * LANES);
        NAME(plain_back)(job, &it, &block, job->grad + at, job->out + at);
        if (it.hole) NAME(expected_back)(job, &it, &block, job->grad + at);
        close_block(job, &it, &block, own);
    }
    close_picture(job, &it);
    return 1;
}

#undef vec
#undef loose
#undef ints
#undef INLINE
#undef load
#undef store
#undef every
#undef choose
#undef relu
#undef root
#undef total
#undef exponential
#undef Normal
#undef normal
#undef answers
#undef put
#undef moments
#undef take
#undef products
#undef TOGETHER
#undef pass_on
#undef to_bias
#undef TARGET
#undef LANES
#undef NAME
