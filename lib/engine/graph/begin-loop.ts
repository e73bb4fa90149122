/** Starts a loop over its items; a loop without items completes at once. */
import { firstAttempt } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonValue, inline, isJsonArray } from '../json.ts';
import { doneHandle } from './loop-bodies.ts';
import { completionEvent } from './completion-event.ts';
import { valueOf } from './context-at.ts';
import { type Draft, emit } from './draft.ts';
import { pageSizeOf } from './loop-limits.ts';
import type { Outcome } from './outcome.ts';
import type { PlanNodeRef } from './plan.ts';

export function beginLoop(
  draft: Draft,
  nodeRef: PlanNodeRef,
  { kind: _kind, items: payload, ...settings }: Extract<Outcome, { kind: 'expanding' }>,
  attempt = firstAttempt,
): void {
  const { now } = draft.tools;
  const items = valueOf(payload, draft.tools.loaded);
  invariant(isJsonArray(items), `the items of loop ${nodeRef.node.id} are not an array`);
  if (items.length === 0) {
    const times = { attempt, startedAt: now, endedAt: now };
    return emit(draft, completionEvent(nodeRef, { kind: 'finished', output: inline([]), handle: doneHandle }, times));
  }
  const pageSize = pageSizeOf(items.length);
  emit(draft, {
    type: 'LOOP_STARTED',
    nodeId: nodeRef.node.id,
    iteration: nodeRef.iteration,
    attempt,
    ...settings,
    items: items.length,
    pages: pagesOf(items, pageSize).map(inline),
    pageSize,
  });
}

const pagesOf = (items: readonly JsonValue[], size: number): readonly JsonValue[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, page) => items.slice(page * size, (page + 1) * size));
