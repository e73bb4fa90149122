/**
 * Judges runs of the Workflow DevKit by their logs: the positions of events are dense, each step, hook and wait has one life, a token has
 * one live hook, an application reads what the log has, a refusal has its reason in the log, and an open run with something to do gets a
 * message.
 */
import { createHash } from 'node:crypto';
import type { DevKitEvent, DevKitEventName } from '../../../lib/engine/devkit/events.ts';
import { isTerminalRunEvent } from '../../../lib/engine/devkit/events.ts';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import type { Payload } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { runInvariant } from '../violation.ts';
import { StreamChecker } from './stream-checker.ts';
import { type Plan, type SeenEvent, replay } from './plan.ts';

export interface LoggedEvent extends Omit<SeenEvent, 'text'> {
  /** of a value in the bucket: known after a reader read it */
  text: string | undefined;
  /** of a value in the bucket: the digest of its JSON */
  readonly digest: string | undefined;
  readonly at: number;
  readonly code: string | undefined;
  readonly resumeId: string | undefined;
  readonly token: string | undefined;
  /** of a hook that was refused for its token */
  readonly owner: string | undefined;
}

const digestDigits = 64;

/** A process that pauses, between its look at the owner of a token and its commit. */
const longestCallMs = 1_500_000;

interface Watched {
  readonly address: RunAddress;
  readonly events: LoggedEvent[];
  endedBy: LoggedEvent | undefined;
  /** deliveries that the application works on */
  deliveries: number;
  /** since when the code has something to do and no delivery of its run */
  idleSince: number;
}

export class DevKitChecker {
  readonly plans = new Map<string, Plan>();
  readonly streams = new StreamChecker();
  readonly #runs = new Map<string, Watched>();
  readonly #cancelled = new Set<string>();
  /** the longest time for which a run had something to do and no delivery */
  maxIdleMs = 0;
  /** values of the bucket that a reader got */
  largeRead = 0;
  conflicts = 0;
  received = 0;
  readonly areClocksRight: boolean;

  /** @param areClocksRight otherwise the sweep may check a run late */
  constructor(areClocksRight: boolean) {
    this.areClocksRight = areClocksRight;
  }

  committed(address: RunAddress, commit: Commit, now: number): void {
    const run = this.#runs.get(address.runId) ?? { address, events: [], endedBy: undefined, deliveries: 0, idleSince: now };
    this.#runs.set(address.runId, run);
    for (const [index, event] of commit.events.entries()) {
      const slot = commit.firstEventId + index;
      runInvariant(1, slot === run.events.length + 1, () => `event ${slot} of ${address.runId} follows ${run.events.length}`);
      runInvariant(2, event.type === 'DEVKIT', () => `the log of ${address.runId} has an event of type ${event.type}`);
      const logged = loggedOf(event, slot, now);
      this.#checkEvent(run, logged);
      run.events.push(logged);
      if (isTerminalRunEvent(logged.event)) run.endedBy ??= logged;
      if (logged.event === 'hook_conflict') this.conflicts += 1;
      if (logged.event === 'hook_received') this.received += 1;
    }
    this.#notice(run, now);
    this.#restUntilWork(run, now);
  }

  /** How long the run had something to do. */
  #notice({ idleSince }: Watched, now: number): void {
    this.maxIdleMs = Math.max(this.maxIdleMs, now - idleSince);
  }

  #checkEvent(run: Watched, event: LoggedEvent): void {
    const { runId } = run.address;
    const must = (holds: boolean, why: string): void =>
      runInvariant(2, holds, () => `event ${event.slot} of ${runId}, ${event.event} of ${event.id}: ${why}`);
    const has = (...names: readonly DevKitEventName[]): boolean =>
      run.events.some((each) => each.id === event.id && names.includes(each.event));
    must(event.event === 'run_created' ? event.slot === 1 : event.slot > 1, 'a log begins with run_created, and has one');
    if (event.event.startsWith('step_') && event.event !== 'step_created') {
      must(has('step_created'), 'the step was not created');
      must(!has('step_completed', 'step_failed'), 'the step has ended');
    }
    const last = run.events.findLast(({ id }) => id === event.id);
    if (run.endedBy !== undefined)
      must(event.event.startsWith('step_') && last?.event === 'step_started', 'the run has ended, and no such step runs');
    if (event.event === 'step_started' && last?.event === 'step_retrying' && this.areClocksRight)
      must((last.until ?? 0) <= event.at, 'the step is retried later');
    switch (event.event) {
      case 'run_started':
        return must(!run.events.some((each) => each.event === 'run_started'), 'the run has started');
      case 'step_created':
      case 'wait_created':
      case 'wait_completed':
      case 'hook_disposed':
      case 'attr_set':
        must(!has(event.event), 'a second one');
        if (event.event === 'hook_disposed') must(has('hook_created'), 'the hook was not created');
        return must(event.event !== 'wait_completed' || has('wait_created'), 'the wait was not created');
      case 'hook_created':
      case 'hook_conflict':
        must(!has('hook_created', 'hook_conflict'), 'the hook was created, or was refused');
        return this.#checkToken(event, runId);
      case 'hook_received':
        must(has('hook_created') && !has('hook_disposed'), 'there is no such hook');
        return must(!run.events.some((each) => each.resumeId === event.resumeId), 'the resumption is recorded twice');
      default:
        return undefined;
    }
  }

  #checkToken({ event, token, owner, at }: LoggedEvent, runId: string): void {
    if (event === 'hook_conflict') {
      const heldUntil = this.#heldUntil(owner, token);
      const isHeld = heldUntil !== undefined && heldUntil >= at - longestCallMs;
      return runInvariant(10, isHeld, () => `a hook of ${runId} was refused: ${owner} has no hook with the token ${token}`);
    }
    const owners = [...this.#runs.values()].filter((run) => this.#liveHook(run, token) !== undefined);
    if (event === 'hook_created')
      runInvariant(
        10,
        owners.length === 0,
        () => `two live hooks have the token ${token}: of ${runId} and of ${owners[0]?.address.runId}`,
      );
  }

  /** Until when the run had a live hook with the token. */
  #heldUntil(owner: string | undefined, token: string | undefined): number | undefined {
    const run = this.#runs.get(owner ?? '');
    const held = run?.events.filter((each) => each.event === 'hook_created' && each.token === token) ?? [];
    const ends = held.map(({ id }) => run?.events.find((each) => each.event === 'hook_disposed' && each.id === id)?.at);
    const times = ends.map((end) => end ?? run?.endedBy?.at ?? Infinity);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  #liveHook({ endedBy, events }: Watched, token: string | undefined): LoggedEvent | undefined {
    if (endedBy !== undefined) return undefined;
    return events.find(
      (each) =>
        each.event === 'hook_created' &&
        each.token === token &&
        !events.some(({ event, id }) => event === 'hook_disposed' && id === each.id),
    );
  }

  /** The run and the hook that a token leads to. */
  hookWith(token: string): { readonly runId: string; readonly hookId: string } | undefined {
    for (const run of this.#runs.values()) {
      const hook = this.#liveHook(run, token);
      if (hook !== undefined) return { runId: run.address.runId, hookId: hook.id };
    }
    return undefined;
  }

  eventsOf(runId: string): readonly LoggedEvent[] {
    return this.#runs.get(runId)?.events ?? [];
  }

  isOpen(runId: string): boolean {
    const run = this.#runs.get(runId);
    return run !== undefined && run.endedBy === undefined;
  }

  cancelled(runId: string): void {
    this.#cancelled.add(runId);
  }

  isCancelled(runId: string): boolean {
    return this.#cancelled.has(runId);
  }

  delivered(runId: string, now: number): void {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    this.#notice(run, now);
    run.deliveries += 1;
    run.idleSince = Infinity;
  }

  deliveryEnded(runId: string, now: number): void {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    run.deliveries -= 1;
    this.#restUntilWork(run, now);
  }

  #restUntilWork(run: Watched, now: number): void {
    const plan = this.plans.get(run.address.runId);
    if (run.deliveries > 0 || run.endedBy !== undefined || plan === undefined) {
      run.idleSince = Infinity;
      return;
    }
    const next = replay(plan, run.events);
    const times =
      next.kind === 'ended'
        ? [now]
        : next.actions.map((action) => (action.kind === 'wait' ? Math.max(now, action.until) : this.#dueAt(run, action, now)));
    run.idleSince = Math.min(Infinity, ...times);
  }

  /** A step that is retried later is not due before. */
  #dueAt({ events }: Watched, action: { readonly id: string }, now: number): number {
    const last = events.findLast(({ id, event }) => id === action.id && (event === 'step_started' || event === 'step_retrying'));
    return Math.max(now, last?.event === 'step_retrying' ? (last.until ?? now) : now);
  }

  /** A page of events, or a delta, begins after the cursor, has no hole, and is what the log has. */
  pageRead(runId: string, after: number, page: readonly SeenEvent[]): void {
    const logged = this.eventsOf(runId);
    for (const [index, seen] of page.entries()) {
      runInvariant(8, seen.slot === after + index + 1, () => `of ${runId} event ${seen.slot} was read after ${after + index}`);
      const known = logged[seen.slot - 1];
      runInvariant(
        8,
        known !== undefined && known.event === seen.event && known.id === seen.id && this.#hasText(known, seen.text),
        () => `event ${seen.slot} of ${runId} was read as ${seen.event} of ${seen.id}, and is ${known?.event} of ${known?.id}`,
      );
    }
  }

  /** @param most the longest time for which a run may have something to do and no delivery */
  check(now: number, most: number): void {
    for (const run of this.#runs.values()) {
      const { address, events, endedBy } = run;
      const { runId } = address;
      runInvariant(5, endedBy !== undefined, `${runId} has not ended`);
      const plan = this.plans.get(runId);
      if (plan === undefined) continue;
      const next = replay(plan, events.slice(0, endedBy.slot - 1));
      const isCancel = endedBy.event === 'run_cancelled';
      const isPlatform = endedBy.event === 'run_failed' && endedBy.code !== undefined;
      runInvariant(7, !isCancel || this.#cancelled.has(runId), `${runId} was cancelled, and no client asked for it`);
      runInvariant(7, !isPlatform, `the platform failed ${runId}: ${endedBy.code}`);
      if (isCancel) continue;
      runInvariant(7, endedBy.event === plan.end, `${runId} ended with ${endedBy.event}, and its code ends with ${plan.end}`);
      const output = next.kind === 'ended' ? next.output : 'nothing';
      runInvariant(7, this.#hasText(endedBy, output), `${runId} ended with ${endedBy.text}, and its log gives ${output}`);
    }
    runInvariant(5, this.maxIdleMs <= most, `a run had something to do and no delivery for ${this.maxIdleMs} ms at ${now}`);
  }

  /** Whether the event has this value. A value of the bucket is known from then on. */
  #hasText(logged: LoggedEvent, text: string | undefined): boolean {
    if (logged.digest === undefined || text === undefined) return logged.text === text;
    if (digestOf(text) !== logged.digest) return false;
    logged.text = text;
    this.largeRead += 1;
    return true;
  }
}

const digestOf = (text: string): string => createHash('sha256').update(JSON.stringify(text)).digest('hex');

const textOf = (payload: Payload | undefined): string | undefined =>
  payload !== undefined && 'value' in payload && typeof payload.value === 'string' ? payload.value : undefined;

function loggedOf(event: DevKitEvent, slot: number, at: number): LoggedEvent {
  const { data = {}, correlationId = '', resumeId, until, payload } = event;
  const field = (name: string): string | undefined => {
    const value = data[name];
    return typeof value === 'string' ? value : undefined;
  };
  const text = textOf(payload);
  // The key of a value in the bucket ends with its digest.
  const digest = payload !== undefined && 'ref' in payload ? payload.ref.slice(-digestDigits) : undefined;
  return {
    event: event.event,
    id: correlationId,
    slot,
    text,
    digest,
    until,
    at,
    code: field('errorCode'),
    resumeId,
    token: field('token'),
    owner: field('conflictingRunId'),
  };
}
