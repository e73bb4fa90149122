/**
 * Facts in, events out: a pure function of the fold, repeated after every lost conflict. A fact about an attempt that is no longer
 * current produces no event.
 */
import {
  decideCommonFact,
  deadlineExceeded,
  endRun,
  hasEnded,
  mustEndAtDeadline,
  recordResumption,
  startRun,
  retryNow,
} from '../decision.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { RunEvent } from '../log/events.ts';
import { type RunState, emptyState } from '../log/fold.ts';
import { sleepersOf } from '../log/open-nodes.ts';
import type { Instant } from '../time.ts';
import { awaitSlot, beginGraph, mustWaitForSlot, takeSlot } from './begin.ts';
import { dispatchRootsAt } from './dispatch.ts';
import { type DecideTools, type Draft, openDraft } from './draft.ts';
import { endAttempt, loseAttempt } from './end-attempt.ts';
import { endCall, endWaitAtItsTime, receiveSignal, wakeEarly } from './end-wait.ts';
import type { Fact } from './facts.ts';

/** The first commit of a run: its input, and its roots dispatched. */
export function decideStart(
  input: Payload,
  system: Readonly<Record<string, JsonValue>>,
  tools: DecideTools,
  startAt?: Instant,
): readonly RunEvent[] {
  const draft = openDraft(emptyState(), tools);
  startRun(draft, input, system);
  if (mustWaitForSlot(draft)) awaitSlot(draft, startAt);
  else if (startAt === undefined) beginGraph(draft);
  else dispatchRootsAt(draft, startAt);
  return draft.events;
}

/** The events that follow from these facts, in order. No events: there is nothing to commit. */
export const decide = (state: RunState, facts: readonly Fact[], tools: DecideTools): readonly RunEvent[] =>
  decideUntilFull(state, facts, tools).events;

/**
 * Decides as many facts as one commit holds; the caller decides the remaining ones in the next commit. After the deadline any fact
 * ends the run, so no worker dispatches or completes anything.
 */
export function decideUntilFull(
  state: RunState,
  facts: readonly Fact[],
  tools: DecideTools,
): { readonly events: readonly RunEvent[]; readonly remaining: readonly Fact[] } {
  const draft = openDraft(state, tools);
  if (facts.length > 0 && mustEndAtDeadline(draft)) endRun(draft, { status: 'timed_out', error: deadlineExceeded });
  for (const [at, fact] of facts.entries()) {
    if (hasEnded(draft)) break;
    if (draft.events.length > 0 && draft.work.isFull) return { events: draft.events, remaining: facts.slice(at) };
    decideOne(draft, fact);
  }
  return { events: draft.events, remaining: [] };
}

function decideOne(draft: Draft, fact: Fact): void {
  switch (fact.kind) {
    case 'node-ended':
      return endAttempt(draft, fact);
    case 'node-lost':
      return loseAttempt(draft, fact);
    case 'node-woken':
      return endWaitAtItsTime(draft, fact);
    case 'signal-received':
      return receiveSignal(draft, fact);
    case 'child-ended':
      return endCall(draft, fact);
    case 'wake-requested':
      if (fact.retries === true) return void retryNow(draft, fact);
      return wakeEarly(draft, sleepersOf(draft.state, fact.nodeIds));
    case 'resume-requested':
      recordResumption(draft, fact);
      return wakeEarly(draft, sleepersOf(draft.state));
    case 'slot-taken':
      return takeSlot(draft, fact.slot);
    default:
      return decideCommonFact(draft, fact);
  }
}
