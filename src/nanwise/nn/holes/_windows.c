/* MisConv on the processor in one call: a convolution and ReLU, around holes the expected ReLU.
 *
 * The mathematics of moments.py in single precision, one picture after another and all maps of a
 * few windows at once, so that no map ever leaves the cache. Threads share the pictures, and the
 * outputs of a picture if there are more threads. On the way back everything is computed again.
 *
 * Windows are in flat order: the pixels that the windows of a box see are copied into planes, one
 * for each channel and phase of the stride, whose rows are as long as a row of windows and what
 * sticks out behind its last one. A tap of the kernel is then one offset for all windows. At the
 * end of each row some windows are computed that do not exist, and left out.
 *
 * _windows_lanes.h has the arithmetic for a number of lanes; it is included once for each
 * instruction set, and the processor decides which one is used. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Outputs that are computed together, and taps whose gradients are. */
#define BLOCK 8
#define TRIPLE 3
/* Windows that are computed together on the way back. */
#define TILE 256
/* Lanes of the widest instruction set; every plane ends with room for as many. */
#define WIDEST 16

typedef struct {
    /* sizes of the batch, of pictures, kernel (outputs, channels of a group, down, across) and out
     * (pictures, outputs, rows, columns) */
    int64_t pictures, components, rank, channels, height, width;
    int64_t outputs, down, across, rows, columns, groups;
    int64_t stride[2], padding[2], dilation[2];
    int64_t threads, lanes; /* lanes: 0 for the most that the processor has */
    /* from what one picture has to that of the next; 0 if all share it */
    int64_t weights_step, means_step, factors_step, noise_step;
    const float *values, *present, *weights, *means, *factors, *noise, *kernel;
    const float *bias; /* or NULL */
    float *out;
    /* the way back: the gradient of out, and those that are wanted, the others NULL */
    const float *grad;
    float *values_grad, *weights_grad, *means_grad, *factors_grad, *noise_grad;
    float *kernel_grad, *bias_grad;
    /* made here: numbers of a group, and the kernel in blocks of outputs, (block, tap, BLOCK) */
    int64_t group_channels, group_outputs, group_blocks;
    int64_t taps, padded_taps; /* of an output; a multiple of TRIPLE */
    float *packed, *squared;
} Job;

/* First windows of rows and columns, and the ends, which are not included. */
typedef struct {
    int64_t top, bottom, left, right;
} Box;

/* The windows of a box in flat order, and the planes that hold what they see. */
typedef struct {
    Box box;
    int64_t columns, pitch;    /* windows of a row, and to the next row in flat order */
    int64_t flat;              /* number of windows in flat order */
    int64_t plane_rows, plane; /* rows of a plane, and its size */
    int64_t group, map;        /* size of the planes of a group, and of all */
    int64_t *offsets;          /* of each tap from the window, in the first group */
} View;

/* A picture and what is computed of it. Maps of a component: the picture with means in its hole,
 * noise in the hole, and each factor in the hole. */
typedef struct {
    int64_t number;
    int hole;
    View whole, inside;   /* all windows, and those around the hole */
    float *pixels, *maps; /* planes of the known pixels, and (component, map) of the hole */
    /* on the way back: gradients of these planes; NULL if not wanted */
    float *pixels_grad, *maps_grad;
    /* gradients of a tile of windows, (BLOCK, TILE), and of it in each map */
    float *asked, *tile;
    /* sums over windows, (BLOCK, taps, lanes): for the kernel, and for its squares */
    float *sums, *square_sums;
} Picture;

/* Some outputs of a group. */
typedef struct {
    int64_t first, many, group;
    const float *weights, *squares; /* (tap, BLOCK) */
    float bias[BLOCK], bias_grad[BLOCK];
} Block;

/* What a thread has for itself. */
typedef struct {
    float *room;
    int64_t size;
    int64_t *offsets; /* of two views */
    double *kernel_grad, *bias_grad;
} Own;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t round_up(int64_t number, int64_t to) { return (number + to - 1) / to * to; }

/* -- where windows are ------------------------------------------------------------------------ */

static View view_of(const Job *job, Box box, int64_t *offsets) {
    const int64_t down = job->stride[0], across = job->stride[1];
    View view = {.box = box, .columns = box.right - box.left, .offsets = offsets};
    const int64_t rows = box.bottom - box.top;
    view.pitch = view.columns + (job->across - 1) * job->dilation[1] / across;
    view.flat = (rows - 1) * view.pitch + view.columns;
    view.plane_rows = rows + (job->down - 1) * job->dilation[0] / down;
    view.plane = round_up(view.plane_rows * view.pitch + WIDEST, WIDEST);
    view.group = job->group_channels * down * across * view.plane;
    view.map = job->groups * view.group;
    int64_t tap = 0;
    for (int64_t c = 0; c < job->group_channels; c++)
        for (int64_t i = 0; i < job->down; i++)
            for (int64_t j = 0; j < job->across; j++) {
                const int64_t y = i * job->dilation[0], x = j * job->dilation[1];
                const int64_t plane = (c * down + y % down) * across + x % across;
                offsets[tap++] = plane * view.plane + y / down * view.pitch + x / across;
            }
    for (; tap < job->padded_taps; tap++) offsets[tap] = 0;
    return view;
}

/* The windows of an axis that span pixels first to last. */
static void touching(const Job *job, int axis, int64_t first, int64_t last, int64_t *start,
                     int64_t *end) {
    const int64_t stride = job->stride[axis], padding = job->padding[axis];
    const int64_t taps = axis ? job->across : job->down;
    const int64_t reached = first + padding - job->dilation[axis] * (taps - 1);
    *start = reached > 0 ? (reached + stride - 1) / stride : 0;
    *end = least((last + padding) / stride + 1, axis ? job->columns : job->rows);
}

/* The smallest box of windows that touch a hole; returns 0 if there is none. */
static int find_box(const Job *job, const float *present, Box *box) {
    const int64_t width = job->width;
    int64_t top = job->height, bottom = -1, left = width, right = -1;
    for (int64_t c = 0; c < job->channels; c++)
        for (int64_t y = 0; y < job->height; y++) {
            const float *row = present + (c * job->height + y) * width;
            int32_t missing = 0;
            for (int64_t x = 0; x < width; x++) missing += row[x] == 0.0f;
            if (!missing) continue;
            top = least(top, y);
            bottom = most(bottom, y);
            int64_t x = 0;
            while (row[x] != 0.0f) x++;
            left = least(left, x);
            x = width - 1;
            while (row[x] != 0.0f) x--;
            right = most(right, x);
        }
    if (bottom < 0) return 0;
    touching(job, 0, top, bottom, &box->top, &box->bottom);
    touching(job, 1, left, right, &box->left, &box->right);
    return box->top < box->bottom && box->left < box->right;
}

/* -- pixels into planes and back -----------------------------------------------------------------
 *
 * Row r and column s of the plane of phase (i, j) are the pixel
 * ((top + r) stride + i - padding, (left + s) stride + j - padding), or 0 beside the picture. */

typedef struct {
    int64_t row, start, end; /* in the planes: a row, and its columns that are in the picture */
    int64_t pixel;           /* of column 0, in a channel of the picture */
} Line;

static int find_line(const Job *job, const View *view, int64_t plane, int64_t r, Line *line) {
    const int64_t across = job->stride[1], phases = job->stride[0] * across;
    const int64_t down = plane % phases / across;
    const int64_t y = (view->box.top + r) * job->stride[0] + down - job->padding[0];
    const int64_t x = view->box.left * across + plane % across - job->padding[1];
    if (y < 0 || y >= job->height || x >= job->width) return 0;
    line->row = plane * view->plane + r * view->pitch;
    line->start = x < 0 ? (-x + across - 1) / across : 0;
    line->end = least((job->width - 1 - x) / across + 1, view->pitch);
    line->pixel = y * job->width + x;
    return line->start < line->end;
}

/* All lines of a channel. */
#define FOR_LINES(job, view, channel, line)                                                       \
    for (int64_t plane_ = (channel) * (job)->stride[0] * (job)->stride[1];                        \
         plane_ < ((channel) + 1) * (job)->stride[0] * (job)->stride[1]; plane_++)                \
        for (int64_t r_ = 0; r_ < (view)->plane_rows; r_++)                                       \
            if (find_line(job, view, plane_, r_, line))

/* Planes of a picture: `known` where there is a value, `missing` elsewhere; NULL stands for 0. */
static void gather(const Job *job, const View *view, const float *known, const float *missing,
                   const float *present, float *planes) {
    const int64_t size = job->height * job->width, step = job->stride[1];
    memset(planes, 0, sizeof(float) * view->map);
    for (int64_t c = 0; c < job->channels; c++) {
        Line line;
        FOR_LINES(job, view, c, &line) {
            const int64_t at = c * size + line.pixel;
            float *to = planes + line.row;
            if (!missing)
                for (int64_t s = line.start; s < line.end; s++) to[s] = known[at + s * step];
            else
                for (int64_t s = line.start; s < line.end; s++) {
                    const int64_t p = at + s * step;
                    to[s] = present[p] == 0.0f ? missing[p] : known ? known[p] : 0.0f;
                }
        }
    }
}

/* Add planes to a picture, where its pixels are known or where they are missing. */
static void scatter(const Job *job, const View *view, const float *planes, const float *present,
                    int known, float *picture) {
    const int64_t size = job->height * job->width, step = job->stride[1];
    for (int64_t c = 0; c < job->channels; c++) {
        Line line;
        FOR_LINES(job, view, c, &line) {
            const float *from = planes + line.row;
            for (int64_t s = line.start; s < line.end; s++) {
                const int64_t p = c * size + line.pixel + s * step;
                if ((present[p] != 0.0f) == known) picture[p] += from[s];
            }
        }
    }
}

/* -- a picture ------------------------------------------------------------------------------------ */

static int64_t picture_size(const Job *job) { return job->channels * job->height * job->width; }

static int64_t map_size(const Job *job) { return job->rows * job->columns; }

/* Room for so many floats, kept for the next picture; NULL if there is none. */
static float *room_for(Own *own, int64_t size) {
    if (size > own->size) {
        free(own->room);
        own->size = 0;
        if (posix_memalign((void **)&own->room, 64, size * sizeof(float))) own->room = NULL;
        if (own->room) own->size = size;
    }
    return own->room;
}

/* Look at a picture and copy its pixels; returns 0 if there is no memory. */
static int open_picture(const Job *job, int64_t n, int back, Own *own, Picture *it) {
    const int64_t size = picture_size(job), rank = job->rank;
    const float *values = job->values + n * size, *present = job->present + n * size;
    Box box;
    memset(it, 0, sizeof(*it));
    it->number = n;
    it->whole = view_of(job, (Box){0, job->rows, 0, job->columns}, own->offsets);
    it->hole = find_box(job, present, &box);
    if (it->hole) it->inside = view_of(job, box, own->offsets + job->padded_taps);
    const int64_t map = it->inside.map, maps = job->components * (rank + 2) * map;
    const int to_pixels = job->values_grad != NULL;
    const int to_maps = it->hole && (to_pixels || job->means_grad);
    const int64_t tile = back ? BLOCK * TILE : 0;
    const int64_t sums = back ? BLOCK * job->padded_taps * job->lanes : 0;
    float *room = room_for(own, (1 + to_pixels) * it->whole.map + (1 + to_maps) * maps +
                                    (rank + 3) * tile + 2 * sums);
    if (!room) return 0;
    it->pixels = room;
    it->maps = room += it->whole.map;
    it->tile = room += maps;
    it->asked = room += (rank + 2) * tile;
    it->sums = room += tile;
    it->square_sums = room += sums;
    room += sums;
    if (to_pixels) {
        it->pixels_grad = memset(room, 0, sizeof(float) * it->whole.map);
        room += it->whole.map;
    }
    if (to_maps) it->maps_grad = memset(room, 0, sizeof(float) * maps);
    gather(job, &it->whole, values, NULL, present, it->pixels);
    for (int64_t k = 0; it->hole && k < job->components; k++) {
        float *to = it->maps + k * (rank + 2) * map;
        const float *factors = job->factors + n * job->factors_step + k * rank * size;
        gather(job, &it->inside, values, job->means + n * job->means_step + k * size, present, to);
        gather(job, &it->inside, NULL, job->noise + n * job->noise_step + k * size, present,
               to + map);
        for (int64_t j = 0; j < rank; j++)
            gather(job, &it->inside, NULL, factors + j * size, present, to + (j + 2) * map);
    }
    return 1;
}

/* Pass the gradients of planes on to the pixels. */
static void close_picture(const Job *job, const Picture *it) {
    const int64_t size = picture_size(job), map = it->inside.map, n = it->number;
    const float *present = job->present + n * size;
    float *values = job->values_grad ? job->values_grad + n * size : NULL;
    if (values) scatter(job, &it->whole, it->pixels_grad, present, 1, values);
    for (int64_t k = 0; it->maps_grad && k < job->components; k++) {
        const float *from = it->maps_grad + k * (job->rank + 2) * map;
        const int64_t at = (n * job->components + k) * size;
        if (values) scatter(job, &it->inside, from, present, 1, values);
        if (!job->means_grad) continue;
        scatter(job, &it->inside, from, present, 0, job->means_grad + at);
        scatter(job, &it->inside, from + map, present, 0, job->noise_grad + at);
        for (int64_t j = 0; j < job->rank; j++)
            scatter(job, &it->inside, from + (j + 2) * map, present, 0,
                    job->factors_grad + at * job->rank + j * size);
    }
}

static Block block_of(const Job *job, int64_t number) {
    Block block = {.group = number / job->group_blocks};
    const int64_t within = number % job->group_blocks * BLOCK;
    const int64_t at = number * job->padded_taps * BLOCK;
    block.first = block.group * job->group_outputs + within;
    block.many = least(BLOCK, job->group_outputs - within);
    block.weights = job->packed + at;
    block.squares = job->squared + at;
    for (int64_t i = 0; job->bias && i < block.many; i++) block.bias[i] = job->bias[block.first + i];
    return block;
}

/* Add the sums over the windows of a picture to those of the thread. */
static void close_block(const Job *job, const Picture *it, const Block *block, Own *own) {
    for (int64_t i = 0; i < block->many; i++) {
        double *kernel = own->kernel_grad + (block->first + i) * job->taps;
        for (int64_t tap = 0; tap < job->taps; tap++) {
            const int64_t at = (i * job->padded_taps + tap) * job->lanes;
            float sum = 0.0f, square_sum = 0.0f;
            for (int64_t lane = 0; lane < job->lanes; lane++) {
                sum += it->sums[at + lane];
                square_sum += it->square_sums[at + lane];
            }
            kernel[tap] += sum + 2.0f * block->weights[tap * BLOCK + i] * square_sum;
        }
        own->bias_grad[block->first + i] += block->bias_grad[i];
    }
}

/* -- the arithmetic, for each instruction set ----------------------------------------------------- */

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define LANES 16
#define NAME(name) name##_16
#include "_windows_lanes.h"
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define NAME(name) name##_8
#include "_windows_lanes.h"
#endif
#define TARGET
#define LANES 4
#define NAME(name) name##_4
#include "_windows_lanes.h"

static int64_t most_lanes(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
    return 4;
}

/* Some blocks of outputs of a picture; returns 0 if there is no memory. */
typedef int (*Work)(const Job *, int64_t n, int64_t first, int64_t last, Own *);

static Work work_of(int64_t lanes, int back) {
    (void)lanes;
#if defined(__x86_64__)
    if (lanes == 16) return back ? backward_16 : forward_16;
    if (lanes == 8) return back ? backward_8 : forward_8;
#endif
    return back ? backward_4 : forward_4;
}

/* -- a batch -------------------------------------------------------------------------------------- */

/* The kernel (block, tap, BLOCK), and its squares; 0 where there is no such output or tap. */
static int pack(Job *job) {
    const int64_t size = job->groups * job->group_blocks * job->padded_taps * BLOCK;
    job->packed = calloc(2 * size, sizeof(float));
    if (!job->packed) return 0;
    job->squared = job->packed + size;
    for (int64_t o = 0; o < job->outputs; o++) {
        const int64_t group = o / job->group_outputs, within = o % job->group_outputs;
        const int64_t block = group * job->group_blocks + within / BLOCK;
        const int64_t to = block * job->padded_taps * BLOCK + within % BLOCK;
        for (int64_t tap = 0; tap < job->taps; tap++) {
            const float weight = job->kernel[o * job->taps + tap];
            job->packed[to + tap * BLOCK] = weight;
            job->squared[to + tap * BLOCK] = weight * weight;
        }
    }
    return 1;
}

/* Into how many parts the outputs of a picture are cut: one, if they have gradients in common. */
static int64_t parts_of(const Job *job) {
    if (job->values_grad || job->weights_grad || job->means_grad) return 1;
    const int64_t wanted = (job->threads + job->pictures - 1) / most(1, job->pictures);
    return most(1, least(wanted, job->groups * job->group_blocks));
}

/* The share of a thread; returns 0 if there is no memory. A thread always gets the same part of the
 * work, so that sums are the same every time. */
static int run_share(const Job *job, int back, int64_t thread, int64_t threads, Own *own) {
    const Work work = work_of(job->lanes, back);
    const int64_t kernel = job->outputs * job->taps;
    const int64_t parts = parts_of(job), blocks = job->groups * job->group_blocks;
    own->offsets = malloc(2 * job->padded_taps * sizeof(int64_t));
    if (back) own->kernel_grad = calloc(kernel + job->outputs, sizeof(double));
    int done = own->offsets && (!back || own->kernel_grad);
    if (done && back) own->bias_grad = own->kernel_grad + kernel;
    const int64_t last = job->pictures * parts * (thread + 1) / threads;
    for (int64_t i = job->pictures * parts * thread / threads; done && i < last; i++) {
        const int64_t part = i % parts;
        done = work(job, i / parts, blocks * part / parts, blocks * (part + 1) / parts, own);
    }
    free(own->offsets);
    free(own->room);
    return done;
}

static int run(Job *job, int back) {
    const int threads = (int)most(1, least(job->threads, job->pictures * parts_of(job)));
    Own *owns = calloc(threads, sizeof(Own));
    int done = owns && pack(job);
    if (done) {
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(&& : done)
        {
            int64_t thread = 0, team = 1;
#ifdef _OPENMP
            thread = omp_get_thread_num();
            team = omp_get_num_threads();
#endif
            done = run_share(job, back, thread, team, owns + thread);
        }
    }
    for (int64_t thread = 0; owns && thread < threads; thread++) {
        Own *own = owns + thread;
        for (int64_t i = 0; own->bias_grad && i < job->outputs * job->taps; i++)
            job->kernel_grad[i] += (float)own->kernel_grad[i];
        for (int64_t o = 0; own->bias_grad && o < job->outputs; o++)
            job->bias_grad[o] += (float)own->bias_grad[o];
        free(own->kernel_grad);
    }
    free(owns);
    free(job->packed);
    return done;
}

/* -- as Python sees it ---------------------------------------------------------------------------- */

enum { SIZES = 24, ADDRESSES = 17 };

static PyObject *run_from_python(PyObject *self, PyObject *args) {
    int back, done;
    PyObject *sizes, *addresses;
    int64_t size[SIZES];
    void *address[ADDRESSES];
    (void)self;
    if (!PyArg_ParseTuple(args, "pO!O!", &back, &PyTuple_Type, &sizes, &PyTuple_Type, &addresses))
        return NULL;
    if (PyTuple_Size(sizes) != SIZES || PyTuple_Size(addresses) != ADDRESSES)
        return PyErr_Format(PyExc_ValueError, "expected %d sizes and %d addresses", SIZES, ADDRESSES);
    for (int i = 0; i < SIZES; i++) size[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
    for (int i = 0; i < ADDRESSES; i++)
        address[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
    if (PyErr_Occurred()) return NULL;
    Job job = {
        .pictures = size[0],
        .components = size[1],
        .rank = size[2],
        .channels = size[3],
        .height = size[4],
        .width = size[5],
        .outputs = size[6],
        .down = size[7],
        .across = size[8],
        .rows = size[9],
        .columns = size[10],
        .groups = size[11],
        .stride = {size[12], size[13]},
        .padding = {size[14], size[15]},
        .dilation = {size[16], size[17]},
        .threads = size[18],
        .lanes = size[19] ? size[19] : most_lanes(),
        .weights_step = size[20],
        .means_step = size[21],
        .factors_step = size[22],
        .noise_step = size[23],
        .values = address[0],
        .present = address[1],
        .weights = address[2],
        .means = address[3],
        .factors = address[4],
        .noise = address[5],
        .kernel = address[6],
        .bias = address[7],
        .out = address[8],
        .grad = address[9],
        .values_grad = address[10],
        .weights_grad = address[11],
        .means_grad = address[12],
        .factors_grad = address[13],
        .noise_grad = address[14],
        .kernel_grad = address[15],
        .bias_grad = address[16],
    };
    if ((job.lanes != 4 && job.lanes != 8 && job.lanes != 16) || job.lanes > most_lanes())
        return PyErr_Format(PyExc_ValueError, "no code for %d lanes here", (int)job.lanes);
    job.group_channels = job.channels / job.groups;
    job.group_outputs = job.outputs / job.groups;
    job.group_blocks = (job.group_outputs + BLOCK - 1) / BLOCK;
    job.taps = job.group_channels * job.down * job.across;
    job.padded_taps = round_up(job.taps, TRIPLE);
    Py_BEGIN_ALLOW_THREADS
    done = run(&job, back);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *most_lanes_from_python(PyObject *self, PyObject *args) {
    (void)self;
    (void)args;
    return PyLong_FromLongLong(most_lanes());
}

static PyMethodDef methods[] = {
    {"run", run_from_python, METH_VARARGS, "One way through a batch; the numbers of a Job."},
    {"most_lanes", most_lanes_from_python, METH_NOARGS, "Lanes that the processor has."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_windows",
    .m_doc = "MisConv on the processor in one call.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__windows(void) { return PyModule_Create(&module); }
