/** A log of a DevKit run for tests of the engine: requests are decided and folded, one commit each. */
import { expect } from 'vitest';
import { openDecision } from '../../../lib/engine/decision.ts';
import { type Decided, type WorldRequest, decideCreation, decideRequest } from '../../../lib/engine/devkit/decide.ts';
import { commitNo, eventId, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { type RunState, applyCommit, emptyState } from '../../../lib/engine/log/fold.ts';
import { type Instant, after, days, instant } from '../../../lib/engine/time.ts';

export const noon: Instant = instant(Date.UTC(2026, 0, 1, 12));
export const bytes = inline({ $bytes: 'ZGV2bFsxXQ==' });

export interface DevKitLog {
  readonly state: RunState;
  readonly commits: readonly Commit[];
  ask(request: WorldRequest, now?: Instant): Decided;
}

export function newLog(specVersion = 5, created: Partial<WorldRequest> = {}): DevKitLog {
  const commits: Commit[] = [];
  const state = emptyState();
  const commit = (decide: (draft: ReturnType<typeof openDecision>) => Decided, at: Instant): Decided => {
    const draft = openDecision(state, { now: at, deadlineAt: after(noon, days(365)) });
    const decided = decide(draft);
    if (draft.events.length === 0) return decided;
    const next: Commit = {
      number: commitNo(commits.length + 1),
      firstEventId: state.nextEventId,
      events: draft.events,
      at,
      by: 'world',
      nonce: nonce('n'),
    };
    applyCommit(state, next);
    commits.push(next);
    return decided;
  };
  commit(
    (draft) =>
      decideCreation(draft, {
        event: 'run_created',
        specVersion,
        data: { deploymentId: 'dpl_1', workflowName: 'workflow//./x//y' },
        payload: bytes,
        ...created,
      }),
    noon,
  );
  return { state, commits, ask: (request, now = noon) => commit((draft) => decideRequest(draft, request), now) };
}

/** A run that has started. */
export function startedLog(specVersion = 5): DevKitLog {
  const log = newLog(specVersion);
  log.ask({ event: 'run_started' });
  return log;
}

export const step = (id = 'step_1'): WorldRequest => ({
  event: 'step_created',
  correlationId: id,
  data: { stepName: 'charge' },
  payload: bytes,
});
export const lazyStart = (id = 'step_1'): WorldRequest => ({ ...step(id), event: 'step_started' });
export const stepEvent = (event: WorldRequest['event'], id = 'step_1'): WorldRequest => ({
  event,
  correlationId: id,
  payload: bytes,
});
export const hook = (id = 'hook_1', token = 'order-7'): WorldRequest => ({
  event: 'hook_created',
  correlationId: id,
  data: { token },
});
export const accepted = (position: number): Decided => ({ kind: 'accepted', eventId: eventId(position) });
export const refusedAs = (code: string) => expect.objectContaining({ kind: 'refused', code });
