/* SPDX-License-Identifier: MIT */
/*
 * Whether two figures differ by more than they would of the same program: from their stated errors,
 * from how far several runs of a side are apart, and over many rows at once.
 */
#ifndef TD_REPORT_QUERY_DIFF_CHANGE_H
#define TD_REPORT_QUERY_DIFF_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* Of all changes that are called significant in a table, at most this part is by chance. */
#define TD_CHANGE_FALSE 0.01

/* A figure of one run. */
struct td_run_figure {
    double value;
    double random; /* standard deviation by which repeated recordings of one run differ */
    double bias;   /* the same of what is wrong with each of them alike */
};

/* The runs of one side, summed up. A zeroed struct has none. */
struct td_run_sums {
    size_t count;
    double mean;
    double squares; /* of the distances from the mean */
    double random;  /* variance, summed */
    double bias;    /* standard deviation, the largest */
};
void td_run_add(struct td_run_sums *sums, const struct td_run_figure *figure);

/* What is assumed of runs before any is compared with another. */
struct td_run_spread {
    double part; /* by how much two runs differ, as a part of the figure; a standard deviation */
    double of_total; /* the same as a part of the whole */
    double freedom;  /* how many runs' worth that is; 0: it is known for sure */
};

struct td_change {
    double delta;     /* NaN: not known */
    double error;     /* ±, 95 % */
    double chance;    /* that the same program differs by as much */
    bool significant; /* td_changes_judge sets it */
};

/* ±, 95 %, of a side's mean. `total`: the side's whole. */
double td_run_error(const struct td_run_sums *sums, const struct td_run_spread *spread,
                    double total);
struct td_change td_change_of(const struct td_run_sums *old, const struct td_run_sums *now,
                              const struct td_run_spread *spread, double total);
/* Benjamini and Hochberg's procedure over `count` changes, which are borrowed; those whose delta is
 * not known take no part. */
void td_changes_judge(struct td_change *const *changes, size_t count);

/* Two-sided: the chance of a t at least as far from 0; freedom 0 is the normal distribution. */
double td_t_chance(double t, double freedom);
/* The t whose two-sided chance is 0.05. */
double td_t_95(double freedom);

#endif
