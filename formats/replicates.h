/* SPDX-License-Identifier: MIT */
/*
 * How far what was sampled may be from the whole: replicates. Each window of a sampled run has a
 * sign in each of TD_REPLICATES half-samples. A replicate of a place is the sum of what its windows
 * differ from the mean, times their signs; so the mean of a place's squared replicates is the
 * variance of its total (McCarthy, Pseudo-replication: half samples, 1969). Replicates of several
 * places, columns or processes add up to those of their sum, whatever they have in common: the
 * error of a function, a line or a share follows from those of its instructions.
 */
#ifndef TD_FORMATS_REPLICATES_H
#define TD_FORMATS_REPLICATES_H

#define TD_REPLICATES 16

/* Student's t, 95 %, of as many degrees of freedom. */
#define TD_REPLICATES_T 2.12

/* Of the cycles that windows stand for: by how much all may be off in one direction, since after a
 * gap a core is not quite as it would be. Measured: row `sampled` of scripts/bench. */
#define TD_SAMPLED_BIAS 0.015

#endif
