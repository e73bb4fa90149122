/** Limits of runs: deadlines, retention, concurrency, budgets. */
import { defaultRetentionDays, lifecycleRules } from '../../lib/constructs/storage.ts';
import { daysUntilDeletion } from '../../lib/contract/payload-lifetimes.ts';
import { maxSlots } from '../../lib/engine/concurrency-slots.ts';
import { maxDirectSiblings } from '../../lib/engine/graph/dispatch.ts';
import { maxBudget } from '../../lib/engine/graph/validate.ts';
import { defaultDeadline, latestEndAfterDeadline, maxDeadline } from '../../lib/engine/log/head.ts';
import { auditRetention } from '../../lib/service/access/record-audit.ts';
import { maxTestDuration, testRetention } from '../../lib/service/runs/create-run.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, count, day, days } from './limit.ts';

export const runs: LimitSection = {
  title: 'Runs',
  per: 'run',
  limits: [
    {
      name: 'Deadline of a run',
      value: days(defaultDeadline),
      atLimit:
        'the run fails with `deadline_exceeded`, unless it waits or waited in this time: then its deadline is extended, up to 365 days. ' +
        '`options.deadlineSeconds` of a graph, `deadline` of `defineWorkflow` or `deadlineAt` of a start declare another deadline',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Deadline of a test run',
      value: days(maxTestDuration),
      atLimit: 'a longer `options.deadlineSeconds` is reduced to this',
      definedIn: ['lib/service/runs/create-run.ts'],
    },
    {
      name: 'Retention of a test run',
      value: days(testRetention),
      atLimit: 'counts from its latest end and ignores `retentionDays`. `POST /v1/runs/{runId}/stop` deletes the run at once',
      definedIn: ['lib/service/runs/create-run.ts'],
    },
    {
      name: 'Latest end after the deadline',
      value: days(latestEndAfterDeadline),
      atLimit: 'the retention counts from this moment, so every item outlives the end of its run by the full retention',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Longest deadline',
      value: days(maxDeadline),
      atLimit: '`invalid_request` (400); also for `availableAt`',
      definedIn: ['lib/engine/log/head.ts'],
    },
    {
      name: 'Retention of a run',
      value: days(defaultRetentionDays * day),
      atLimit: 'its items expire this long after its latest end, which is a day after the deadline; setting `retentionDays`',
      definedIn: ['lib/constructs/storage.ts'],
    },
    {
      name: 'Payload of an expired run',
      value: days(daysUntilDeletion.daily * day),
      per: 'payload',
      atLimit: 'the bucket deletes it within this time after the run expires, and never before',
      definedIn: ['lib/contract/payload-lifetimes.ts'],
    },
    {
      name: 'Such a payload, of a far expiry',
      value: days(daysUntilDeletion.longer * day),
      per: 'payload',
      atLimit: 'the same, if the run expires more than 728 days after the payload is written',
      definedIn: ['lib/contract/payload-lifetimes.ts'],
    },
    {
      name: 'Rules of the bucket',
      value: count(lifecycleRules.length),
      per: 'bucket',
      atLimit: 'one rule for each lifetime that a payload can have. S3 allows 1,000',
      definedIn: ['lib/constructs/storage.ts'],
      quota: pages.lifecycle,
    },
    {
      name: 'Audit entries',
      value: days(auditRetention),
      per: 'entry',
      atLimit: 'the entries expire',
      definedIn: ['lib/service/access/record-audit.ts'],
    },
    {
      name: 'Concurrency slots of a workflow',
      value: count(maxSlots),
      per: 'workflow',
      atLimit: '`concurrency_invalid`. Without `options.maxConcurrentRuns` there is no limit. Runs over the limit wait',
      definedIn: ['lib/engine/concurrency-slots.ts'],
    },
    {
      name: 'Number in a budget',
      value: count(maxBudget),
      per: 'budget',
      atLimit: '`budget_invalid`. A run without `options.budget` has no budget: only its graph or its deadline ends it',
      definedIn: ['lib/engine/graph/validate.ts'],
    },
    {
      name: 'Siblings that commit by themselves',
      value: count(maxDirectSiblings),
      per: 'node',
      atLimit: 'with more siblings, results go to the results queue, and the collector commits up to ten at a time',
      definedIn: ['lib/engine/graph/dispatch.ts'],
    },
  ],
  outro: ['The number of runs has no limit, except the one that a workflow sets itself.'],
};
