/** Dispatches nodes that are ready: one inline, through the node queue, or through the results queue in a wide fan-out. */
import { defined } from '../../base/defined.ts';
import { emit, markRunning } from '../decision.ts';
import { firstAttempt, topLevel } from '../ids.ts';
import type { Via } from '../log/events.ts';
import { type RunState, openNodes } from '../log/fold.ts';
import type { Instant } from '../time.ts';
import { checkExecutionBudget } from './budget.ts';
import { type Draft, canRunOneInline } from './draft.ts';
import type { PlanNodeRef } from './plan.ts';

/**
 * With more open siblings than this, results go to the results queue: that many direct commits would lose more puts than they win.
 * In the simulation, 10 branches within 2 s lose 9 puts.
 */
export const maxDirectSiblings = 8;

/** Whether the run waits for so many called runs that the collector commits their ends. Separate commits would lose most puts. */
export const waitsForManyRuns = (state: RunState): boolean =>
  openNodes(state).filter((node) => node.status === 'waiting' && node.for === 'child').length > maxDirectSiblings;

/** Dispatches the ready nodes: one inline where the decider may run it, and a wide fan-out through the results queue. */
export function dispatchReady(draft: Draft, ready: readonly PlanNodeRef[]): void {
  const workingCount = openNodes(draft.state).filter(({ status }) => status !== 'waiting').length;
  const isWideFanOut = workingCount + ready.length > maxDirectSiblings;
  if (
    !checkExecutionBudget(
      draft,
      ready.filter(({ node }) => !node.isPure).map(({ node, iteration }) => ({ nodeId: node.id, iteration })),
    )
  )
    return;
  for (const { node, iteration } of ready) {
    const via: Via = isWideFanOut ? 'collect' : canRunOneInline(draft) ? 'inline' : 'queue';
    emit(
      draft,
      defined({
        type: 'NODE_DISPATCHED',
        nodeId: node.id,
        iteration,
        attempt: firstAttempt,
        via,
        wave: node.wave,
        isPure: node.isPure ? (true as const) : undefined,
      }),
    );
    if (via === 'inline') {
      // In the commit of a start whose caller waits. Otherwise the run is running already.
      markRunning(draft);
      emit(draft, {
        type: 'NODE_STARTED',
        nodeId: node.id,
        iteration,
        attempt: firstAttempt,
        startedAt: draft.tools.now,
      });
    }
  }
}

/** Dispatches the roots of a run with a later start; workers begin them at that time. */
export function dispatchRootsAt(draft: Draft, notBefore: Instant): void {
  const { roots } = draft.tools.plan;
  const counted = roots.filter(({ isPure }) => !isPure).map(({ id }) => ({ nodeId: id, iteration: topLevel }));
  if (!checkExecutionBudget(draft, counted)) return;
  for (const root of roots)
    emit(
      draft,
      defined({
        type: 'NODE_DISPATCHED',
        nodeId: root.id,
        iteration: topLevel,
        attempt: firstAttempt,
        via: roots.length > maxDirectSiblings ? 'collect' : 'queue',
        wave: root.wave,
        notBefore,
        isPure: root.isPure ? (true as const) : undefined,
      }),
    );
}
