/* SPDX-License-Identifier: MIT */
#include "report/attribution/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define Z_95        1.959964
#define LAG_NEAR    5 /* intervals that far apart say what is usual around a place, */
#define LAG_FAR     12
#define LAG_MIX     8
#define SCALES      4  /* of 1, 4, 16, 64 samples in a batch */
#define BATCHES_MIN 32 /* fewer say little of how they differ */
#define KAPPA_MAX   0.999999
#define ALIKE       0.2 /* total variation: functions that differ less are hardly two */
#define HALF_MARGIN 1.3 /* neither model is quite right */
/* Perf metrics are fractions of 255 (Linux, icl_get_metrics_event_value): half a step is not known,
 * however many intervals there are. */
#define STEP_ERROR (0.5 / 255)
/* What is called or inlined for some cycles at a time runs while its surroundings wait, and samples
 * fall on what waits. Of the standard deviation of a category's slots: what the worst of the
 * modelled programs needs (attribution.md 7). */
#define NEARBY 0.125
/* The same of a place's own slots, where it is left at once. */
#define PASSING 0.25
/* Of n samples none fell where fewer than so many nths of the slots were (at 95 %). */
#define UNSEEN 3.0

const char *td_mix_kind_name(enum td_mix_kind kind)
{
    static const char *const names[TD_MIX_KINDS] = {"interval", "same-function", "paired",
                                                    "located",  "timed",         "joined"};

    return names[kind];
}

/* Sums over a set of intervals. x is an interval's slots of a node, s all its slots. */
struct sums {
    double n, s, ss;
    double x[TD_NODE_COUNT], xx[TD_NODE_COUNT], xs[TD_NODE_COUNT];
    double columns[TD_COLUMNS_MAX];
};

/* How much neighbouring batches of samples differ in how many of them are of a key. */
struct batches {
    size_t at; /* the batch that is being filled, */
    double count, before, squares;
};

struct key_sums {
    struct sums all, same;
    double known, same_n;       /* intervals whose begin is known (of a pair, the short ones) */
    double second, second_same; /* those whose last but one is known, and was there too */
    double lagged, lagged_same; /* pairs LAG_NEAR to LAG_FAR apart */
    double near_s, near_x[TD_NODE_COUNT];
    struct batches batches[SCALES];
};

struct work {
    const struct td_intervals *in;
    const uint32_t *key;
    struct key_sums *sums;
    double total_s, short_below;
};

static double interval_node(const struct td_intervals *in, size_t i, int node)
{
    return in->node_at[node] < 0
               ? NAN
               : (double)in->x[i * (size_t)in->node_count + (size_t)in->node_at[node]];
}

static void add_sums(const struct work *w, struct sums *sums, size_t i)
{
    const struct td_interval *at = &w->in->at[i];
    const uint32_t columns =
        td_model_group(w->in->counted->model, w->in->counted->group)->column_count;

    sums->n++;
    sums->s += at->slots;
    sums->ss += at->slots * at->slots;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const double x = interval_node(w->in, i, n);

        sums->x[n] += x;
        sums->xx[n] += x * x;
        sums->xs[n] += x * at->slots;
    }
    for (uint32_t c = 0; c < columns; c++)
        sums->columns[c] += (double)at->values[c];
}

static bool is_window(const struct work *w, size_t i)
{
    return !w->in->paired || w->in->at[i].slots < w->short_below;
}

void td_intervals_ready(struct td_intervals *in)
{
    const uint32_t columns = td_model_group(in->counted->model, in->counted->group)->column_count;

    in->node_count = 0;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        in->node_at[n] = isnan(in->tree.share[n]) ? -1 : in->node_count++;
    in->x = td_xcalloc(in->len * (size_t)in->node_count + 1, sizeof(*in->x));
    for (size_t i = 0; i < in->len; i++) {
        for (uint32_t c = 0; c < columns; c++)
            in->at[i].slots += in->slopes[TD_NODE_COUNT][c] * (double)in->at[i].values[c];
        for (int n = 0; n < TD_NODE_COUNT; n++) {
            double x = 0;

            for (uint32_t c = 0; c < columns && in->node_at[n] >= 0; c++)
                x += in->slopes[n][c] * (double)in->at[i].values[c];
            if (in->node_at[n] >= 0)
                in->x[i * (size_t)in->node_count + (size_t)in->node_at[n]] = (float)x;
        }
    }
}

void td_intervals_release(struct td_intervals *in)
{
    free(in->x);
    free(in->at);
}

static struct work begin(const struct td_intervals *in, const uint32_t *key)
{
    struct work w = {.in = in, .key = key};

    for (size_t i = 0; i < in->len; i++)
        w.total_s += in->at[i].slots;
    w.short_below = in->len ? w.total_s / (double)in->len / 2 : 0;
    return w;
}

/* What is usual around the places where a key is found. */
static void add_neighbours(struct work *w, size_t i)
{
    struct key_sums *k = &w->sums[w->key[i]];
    uint32_t at = w->in->at[i].before;

    for (int lag = 1; lag <= LAG_FAR && at != TD_NONE; lag++, at = w->in->at[at].before) {
        k->second += lag == 2;
        k->second_same += lag == 2 && w->key[at] == w->key[i];
        if (lag < LAG_NEAR)
            continue;
        k->lagged++;
        k->lagged_same += w->key[at] == w->key[i];
        if (lag != LAG_MIX)
            continue;
        k->near_s += w->in->at[at].slots;
        for (int n = 0; n < TD_NODE_COUNT; n++)
            k->near_x[n] += interval_node(w->in, at, n);
    }
}

/* From the batch before `end` to it: `end` itself is empty unless it is the next. */
static void close_batch(struct batches *b, size_t end)
{
    const double change = b->count - b->before;

    if (b->at > 0)
        b->squares += change * change;
    if (end > b->at + 1)
        b->squares += b->count * b->count;
    b->before = end == b->at + 1 ? b->count : 0;
    b->count = 0;
    b->at = end;
}

/* Samples in a batch; those of a pair are one. */
static size_t batch_size(const struct work *w, int scale)
{
    return (size_t)(w->in->paired ? 2 : 1) << 2 * scale;
}

static size_t batch_count(const struct work *w, int scale)
{
    return w->in->len / batch_size(w, scale);
}

static void add_to_batches(const struct work *w, struct key_sums *k, size_t i)
{
    for (int scale = 0; scale < SCALES; scale++) {
        struct batches *b = &k->batches[scale];
        const size_t at = i / batch_size(w, scale);

        if (at >= batch_count(w, scale))
            break;
        if (at != b->at)
            close_batch(b, at);
        b->count++;
    }
}

static void add_interval(struct work *w, size_t i)
{
    const struct td_interval *at = &w->in->at[i];
    struct key_sums *k = &w->sums[w->key[i]];

    add_sums(w, &k->all, i);
    add_to_batches(w, k, i);
    add_neighbours(w, i);
    if (at->before == TD_NONE || !is_window(w, i))
        return;
    k->known++;
    if (w->key[at->before] == w->key[i]) {
        k->same_n++;
        add_sums(w, &k->same, i);
    }
}

/* The variance of a share that samples at equal distances see, of a state that is left at random:
 * 1 for independent samples, 0 for one that is never left. `kappa` is what is remembered from one
 * sample to the next: exponential covariance, integrated against its samples. */
static double systematic(double kappa)
{
    const double r = -log(fmin(fmax(kappa, 1e-9), KAPPA_MAX));

    return r < 0.01 ? r / 6 : 1 / tanh(r / 2) - 2 / r;
}

/* Of the number of samples in a key, from how neighbouring batches of them differ: what a program
 * does otherwise later on is no error, samples that follow from one another are one. Negative when
 * there are too few batches. */
static double batch_variance(const struct work *w, const struct key_sums *k, int scale)
{
    const size_t count = batch_count(w, scale);
    struct batches last = k->batches[scale];

    if (count < BATCHES_MIN)
        return -1;
    close_batch(&last, last.at + 1 < count ? count : last.at + 1);
    return last.squares / 2 * (double)count / (double)(count - 1);
}

/* Of where a sample was, what is known at a later one, beyond the share that all samples have:
 * `same_n` of `known` are there too, less so many standard deviations. */
static double memory_of(double share, double same_n, double known, double less)
{
    const double seen = known > 0 ? same_n / known : share;
    const double same = seen - less * sqrt(seen * (1 - seen) / fmax(known, 1));

    return share < 1 ? fmin(fmax((same - share) / (1 - share), 0), KAPPA_MAX) : KAPPA_MAX;
}

/* At the next sample. */
static double remembered(const struct work *w, const struct key_sums *k)
{
    return memory_of(k->all.s / w->total_s, k->same_n, k->known, 1); /* rather too little */
}

/* The same variance of a key's share, for places that are left soon for a part of their time and
 * stayed in for the rest: what is still known two samples later tells them from places that are
 * left at one pace. */
static double sampled_variance(const struct work *w, const struct key_sums *k, double kappa)
{
    const double share = k->all.s / w->total_s;
    const double next = memory_of(share, k->same_n, k->known, 0);
    const double later = memory_of(share, k->second_same, k->second, 1);

    if (next <= 0 || later <= next * next)
        return systematic(kappa);
    const double stayed = next * next / later;
    return 1 - stayed + stayed * systematic(fmin(later / next, KAPPA_MAX));
}

/* Of a key's share of all slots. Where samples remember where the sample before was because the
 * place is stayed in, its share is wrong at the ends of each stay alone; where they seem to,
 * because the program repeats itself in step with them, they are worth less than they are many.
 * `doubt`: how likely the latter is. */
static double slots_error(const struct work *w, const struct key_sums *k, double kappa,
                          double doubt)
{
    const double n = w->in->paired ? (double)w->in->len / 2 : (double)w->in->len;
    const double each = (double)w->in->len / n;
    const double share = k->all.s / w->total_s;
    const double one = share < 1 ? 1 / (6 * n * n) : 0;
    double least = share * (1 - share) / n * (w->in->paired ? 1 : sampled_variance(w, k, kappa)),
           long_run = least;

    for (int scale = 0; scale < SCALES; scale++) {
        const double variance = batch_variance(w, k, scale) / (n * n * each * each);

        if (variance < 0)
            break;
        least = fmin(least, variance);
        long_run = variance;
    }
    return fmin(1, Z_95 * sqrt(fmax(least + doubt * (long_run - least), one)));
}

/* Slots that are lost when a path turns out to be wrong belong to the branch; who is interrupted
 * then is found where the program goes on, or at what the branch waits for. Without branches, too,
 * code that waits has the samples of what passes behind it. Both matter where places are left soon.
 * And of n samples none may have fallen there (UNSEEN). */
static double slots_bound(const struct work *w, const struct key_sums *k, double error,
                          double kappa)
{
    const double share = k->all.s / w->total_s;
    const double wrong_path = w->in->tree.share[TD_NODE_BAD_SPECULATION];
    const double passing = PASSING * sqrt(fmax(share * (1 - share), 0));
    const double moved = (1 - kappa) * ((isnan(wrong_path) ? 1 : wrong_path) + passing);
    const double bound = error + moved + NEARBY * share * (1 - share);

    return fmin(fmax(bound, UNSEEN / (double)w->in->len), 1);
}

/* How much of the slots of a set were spent where its intervals end. A place is left at random
 * after a while that `kappa` (what is remembered over an interval) gives; `usual` is its part of
 * the slots around it. */
struct blur {
    double kappa, usual;
    double all, same;
};

static struct blur blur_of(const struct key_sums *k, double global_share)
{
    struct blur b = {.usual = k->lagged > 0 ? k->lagged_same / k->lagged : global_share};
    const double same = (k->same_n + 1) / (k->known + 2); /* few are no proof */
    const double noise = sqrt(same * (1 - same) / (k->known + 2));

    /* That no sample was elsewhere is no proof that nothing ran there. */
    b.usual = fmin(b.usual, 1 - UNSEEN / fmax(k->all.n, 2 * UNSEEN));
    b.kappa = fmin(fmax((same - 3 * noise - b.usual) / (1 - b.usual), 0), KAPPA_MAX);
    const double edge = b.kappa > 0 ? (1 - b.kappa) / -log(b.kappa) : 0;
    const double stayed = b.kappa / (b.kappa + (1 - b.kappa) * b.usual + 1e-12);
    const double left = 2 * edge / 3 + (1 - 2 * edge / 3) * b.usual;
    const double came = edge / 2 + (1 - edge / 2) * b.usual;

    b.same = stayed + (1 - stayed) * left;
    b.all = same * b.same + (1 - same) * came;
    return b;
}

/* Of a set's ratio, by the spread of its intervals around it. What was counted is no sample: only
 * the part of the key's slots that the set has not counted can differ. */
static double ratio_error(const struct sums *set, int node, double counted_part)
{
    const double p = set->s > 0 ? set->x[node] / set->s : 0;
    const double around = set->xx[node] - 2 * p * set->xs[node] + p * p * set->ss;

    if (set->n < 2)
        return 1;
    const double variance = fmax(around, 0) / (set->s * set->s) * set->n / (set->n - 1);
    return Z_95 * sqrt(variance * fmax(1 - counted_part, 0));
}

struct estimate {
    double share, error;
};

/* With `clean` of the set's slots spent at the place and the rest at others, whose mix can be
 * anything that the sums allow. */
static struct estimate bounded(double p, double sampling, double clean)
{
    const double low = fmax((p - (1 - clean)) / clean, 0), high = fmin(p / clean, 1);

    return (struct estimate){p, fmin(sampling + fmax(high - p, p - low), 1)};
}

/* Solves for the place's own mix: what the set has of other places is what is usual around it. That
 * is right for places left at random, and too much for those left after a fixed while, whose set is
 * clean: half of the correction is made, and counts as an error. */
static struct estimate unblurred(double p, double sampling, double clean, double usual,
                                 double around)
{
    const double gain = clean - usual;

    if (gain < 1e-3)
        return (struct estimate){p, 1};
    const double solved = fmin(fmax((p * (1 - usual) - (1 - clean) * around) / gain, 0), 1);
    const double half = (solved - p) / 2;
    return (struct estimate){p + half,
                             fmin(sampling * (1 - usual) / gain + fabs(half) * HALF_MARGIN, 1)};
}

/* What is usual around the key's intervals. */
static double around_of(const struct key_sums *k, int node, double otherwise)
{
    return k->near_s > 0 ? fmin(fmax(k->near_x[node] / k->near_s, 0), 1) : otherwise;
}

/* A program that repeats itself in about the sampling period looks as if it stayed where its
 * samples fall, while every interval holds all of it: then the key's mix is that of its neighbours,
 * or of the whole. Real functions seldom have the same. */
struct doubt {
    double part;  /* 1 when they do not differ at all, 0 from ALIKE on */
    double clean; /* what is left of the intervals then */
    double
        in_step; /* both alike: where a function is stayed in for long, its neighbours are itself */
};

static double alike(double variation, double clean)
{
    return fmax(0, 1 - variation / fmax(1 - clean, 1e-6) / ALIKE);
}

static struct doubt doubt_of(const struct work *w, const struct key_sums *k,
                             const struct td_pmu_tree *mix, const struct blur *blur)
{
    const double whole_clean = w->total_s > 0 ? fmin(k->all.s / w->total_s, 0.9999) : 0;
    double around = 0, whole = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level != 1 || w->in->node_at[n] < 0)
            continue;
        around += fabs(mix->share[n] - around_of(k, n, mix->share[n])) / 2;
        whole += fabs(mix->share[n] - w->in->tree.share[n]) / 2;
    }
    struct doubt near = {.part = alike(around, blur->usual), .clean = blur->usual};
    struct doubt far = {.part = alike(whole, whole_clean), .clean = whole_clean};

    near.in_step = far.in_step = fmin(near.part, far.part);
    return far.part * (1 - far.clean) > near.part * (1 - near.clean) ? far : near;
}

static struct estimate estimate_of(const struct key_sums *k, const struct sums *set, int node,
                                   double exact_share, double clean, const struct blur *blur,
                                   const struct doubt *doubt)
{
    const double counted_part = k->all.s > 0 ? set->s * clean / k->all.s : 0;
    const double sampling = ratio_error(set, node, counted_part);
    const double around = around_of(k, node, exact_share);
    const struct estimate plain = bounded(exact_share, sampling, clean);
    const struct estimate solved = unblurred(exact_share, sampling, clean, blur->usual, around);
    const struct estimate blurred = bounded(exact_share, sampling, doubt->clean);
    struct estimate best = solved.error < plain.error ? solved : plain;

    best.error = fmax(best.error, doubt->part * blurred.error);
    return best;
}

/* Fills the mix from one set of the key's intervals; returns the sum of its errors. */
static double fill_mix(struct td_mix *mix, const struct work *w, const struct key_sums *k,
                       const struct sums *set, double clean, const struct blur *blur)
{
    struct td_pmu_tree tree;
    double errors = 0;

    td_counted_tree(w->in->counted, set->columns, &tree);
    const struct doubt doubt = doubt_of(w, k, &tree, blur);
    mix->clean = clean;
    mix->doubt = doubt.in_step;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const bool known = !isnan(w->in->tree.share[n]);

        mix->share[n] = mix->error[n] = NAN;
        if (!known)
            continue;
        const double p = isnan(tree.share[n]) ? w->in->tree.share[n] : tree.share[n];
        const struct estimate e = estimate_of(k, set, n, p, clean, blur, &doubt);
        mix->share[n] = e.share;
        mix->error[n] = fmin(hypot(e.error, hypot(STEP_ERROR, NEARBY * sqrt(p * (1 - p)))), 1);
        errors += e.error;
    }
    return errors;
}

static void fill(struct td_mix *mix, const struct work *w, const struct key_sums *k)
{
    const struct blur blur = blur_of(k, w->total_s > 0 ? k->all.s / w->total_s : 0);
    struct td_mix same;

    *mix = (struct td_mix){.intervals = (uint64_t)k->all.n,
                           .slots = k->all.s,
                           .slots_error = 1,
                           .slots_bound = 1,
                           .same_share = k->known > 0 ? k->same_n / k->known : NAN,
                           .kind = TD_MIX_INTERVAL};
    if (k->all.n == 0) {
        mix->slots_error = mix->slots_bound = fmin(UNSEEN / fmax((double)w->in->len, UNSEEN), 1);
        for (int n = 0; n < TD_NODE_COUNT; n++)
            mix->share[n] = mix->error[n] = NAN;
        return;
    }
    const double errors =
        fill_mix(mix, w, k, &k->all, w->in->paired ? blur.usual : blur.all, &blur);
    same = *mix;
    same.kind = w->in->paired ? TD_MIX_PAIRED : TD_MIX_SAME;
    /* Of pairs, what is known of the short windows says nothing of what is between them. */
    if (k->same.n >= 2 &&
        (fill_mix(&same, w, k, &k->same, blur.same, &blur) <= errors || w->in->paired))
        *mix = same;
    if (w->total_s > 0) {
        const double kappa = remembered(w, k);

        mix->slots_error = slots_error(w, k, kappa, mix->doubt);
        mix->slots_bound = slots_bound(w, k, mix->slots_error, kappa);
    }
}

void td_mix_of(struct td_mix *mixes, const struct td_intervals *intervals, const uint32_t *key,
               size_t keys)
{
    struct work w = begin(intervals, key);

    w.sums = td_xcalloc(keys + 1, sizeof(*w.sums));
    for (size_t i = 0; i < intervals->len; i++)
        add_interval(&w, i);
    for (size_t k = 0; k < keys; k++)
        fill(&mixes[k], &w, &w.sums[k]);
    free(w.sums);
}

void td_mix_total_errors(const struct td_intervals *intervals, double errors[TD_NODE_COUNT])
{
    const struct work w = begin(intervals, NULL);
    struct sums sums = {0};

    for (size_t i = 0; i < intervals->len; i++)
        add_sums(&w, &sums, i);
    /* Half an interval a thread on average is not counted, anything between none and all of it. */
    const double unseen = sums.n > 0 ? sqrt((double)intervals->series / 3 / sums.n) : 1;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        errors[n] = intervals->node_at[n] < 0 ? NAN
                    : sums.n < 2              ? 1
                                              : fmin(1, ratio_error(&sums, n, 0) * unseen);
}
