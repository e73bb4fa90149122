/** The part of docs/LIMITS.md about the execution of runs. */
import { decisions } from './decisions.ts';
import { lenses } from './lenses.ts';
import type { LimitPart } from './limit.ts';
import { log } from './log.ts';
import { nodes } from './nodes.ts';
import { queues } from './queues.ts';
import { recovery } from './recovery.ts';
import { runs } from './runs.ts';
import { scriptsAndRequests } from './scripts-and-requests.ts';

export const execution: LimitPart = {
  title: 'Execution',
  intro: 'These limits apply while runs execute. Settings of a workflow or a node change some of them, within the given maximum.',
  sections: [runs, nodes, scriptsAndRequests, lenses, decisions, log, recovery, queues],
};
