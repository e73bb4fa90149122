/** Limits of what one decision of the engine evaluates before it hands work over. */
import { minQueueDelayMs } from '../../lib/engine/graph/end-attempt.ts';
import { definitionLimits } from '../../lib/engine/graph/findings.ts';
import { workLimits } from '../../lib/engine/graph/work-limits.ts';
import { maxQueueDelayMs } from '../../lib/ports/jobs.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, bytes, characters, count, seconds } from './limit.ts';

export const decisions: LimitSection = {
  title: 'Decisions',
  intro:
    'A decision is what the engine computes for one commit. These limits bound its work, so that a commit takes little time.',
  per: 'decision',
  limits: [
    {
      name: 'Texts of one decision',
      value: characters(workLimits.decision.text),
      atLimit: 'workers evaluate further pure nodes, one by one',
      definedIn: ['lib/engine/graph/work-limits.ts'],
    },
    {
      name: 'Inline text of one decision',
      value: bytes(workLimits.decision.inlineBytes),
      atLimit:
        'workers evaluate further pure nodes, and the next commit takes further results. Messages, names and printed lines of the events count, and 20 bytes for each event. Iterations that begin at once may add as much again',
      definedIn: ['lib/engine/graph/work-limits.ts'],
    },
    {
      name: 'Matching of one node',
      value: characters(workLimits.node.matching),
      per: 'node',
      atLimit:
        'the node fails with `regex_too_costly` or `comparison_too_costly`, cause `invalid`. The text that its regular expressions read counts, more for a large pattern; so does a quarter of what its comparisons read',
      definedIn: ['lib/engine/graph/work-limits.ts'],
    },
    {
      name: 'Matching of one decision',
      value: characters(workLimits.decision.matching),
      atLimit: 'workers evaluate further pure nodes, one by one',
      definedIn: ['lib/engine/graph/work-limits.ts'],
    },
    {
      name: 'Conditions of edges in a decision',
      value: characters(workLimits.decision.edges),
      atLimit:
        'the node that the edge leads to fails with `comparison_too_costly`, cause `invalid`. A quarter of the characters, items and keys that the conditions read counts; it also counts as matching of the decision',
      definedIn: ['lib/engine/graph/work-limits.ts'],
    },
    {
      name: 'Branches that begin together',
      value: count(definitionLimits.nodes),
      atLimit: 'equal to the maximum number of nodes. Iterations of a loop start 1,000 at a time',
      definedIn: ['lib/engine/graph/findings.ts'],
    },
    {
      name: 'Delay by queue',
      value: seconds(maxQueueDelayMs),
      per: 'message',
      atLimit: 'a longer wait uses a one-time schedule',
      definedIn: ['lib/ports/jobs.ts'],
      quota: pages.sqs,
    },
    {
      name: 'Wait inside a worker',
      value: seconds(minQueueDelayMs),
      per: 'attempt',
      atLimit: 'a retry that is due later uses the delay queue',
      definedIn: ['lib/engine/graph/end-attempt.ts'],
    },
  ],
};
