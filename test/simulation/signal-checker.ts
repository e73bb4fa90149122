/**
 * Checks signals independently of the system (invariant 11). No signal is delivered twice. A wait gets only a signal sent to
 * its key, with the payload of the sender. An acknowledged signal reaches a matching wait while both last.
 */
import type { RunAddress, Scope } from '../../lib/engine/ids.ts';
import { nodeKey } from '../../lib/engine/ids.ts';
import { type JsonValue, type Payload, isJsonObject } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { type Instant, minutes, seconds } from '../../lib/engine/time.ts';
import { runInvariant } from './violation.ts';

/** The sweep checks after ten minutes; with faults many checks fail half-way, and a message is redelivered after sixteen. */
const maxOverlapMs = minutes(30);
const longestPlainOverlapMs = seconds(30);

interface Span {
  readonly place: string;
  readonly what: string;
  readonly from: number;
  until: number;
}

export interface SentSignal {
  readonly scope: Scope;
  readonly signalId: string;
  readonly name: string;
  readonly correlation: string;
  readonly bufferedUntil: Instant;
}

/** A signal that a client or code has sent. */
export interface SignalSend {
  readonly scope: Scope;
  readonly signalId: string;
  readonly name: string;
  readonly correlation: string;
  readonly payload: JsonValue;
}

interface Given {
  readonly wait: string;
  readonly place: string;
  readonly signalId: string;
}

const placeOf = (scope: Scope, { name, correlation }: { readonly name: string; readonly correlation: string }): string =>
  JSON.stringify([scope.environment, name, correlation]);

export class SignalChecker {
  /** no faults: a matching wait gets its signal at once */
  readonly #isCalm: boolean;
  readonly #bufferedUntil = new Map<string, number>();
  readonly #waits = new Map<string, Span>();
  readonly #ended: Span[] = [];
  /** acknowledged and not yet delivered, according to the responses of their senders */
  readonly #kept = new Map<string, Span>();
  readonly #givenAt = new Map<string, number>();
  readonly #sent = new Map<string, SignalSend>();
  /** signals delivered before the checker knew their sender */
  readonly #unknown: (Given & { readonly payload: JsonValue | undefined })[] = [];
  /** by wait: delivered in the current commit, which also ends the wait */
  readonly #givenNow = new Map<string, Given>();
  readonly #refused = new Set<string>();
  /** waits that ended without a signal */
  unmet = 0;
  maxOverlapMs = 0;

  constructor(isCalm: boolean) {
    this.#isCalm = isCalm;
  }

  get given(): number {
    return this.#givenAt.size;
  }

  committed(run: RunAddress, { events }: Commit, now: Instant): void {
    for (const event of events) {
      if (
        event.type === 'RUN_COMPLETED' ||
        event.type === 'RUN_FAILED' ||
        event.type === 'RUN_TIMED_OUT' ||
        event.type === 'RUN_CANCELLED' ||
        // A run that rolls back waits for nothing any more, and a retried workflow begins its waits again.
        event.type === 'ROLLBACK_STARTED' ||
        event.type === 'RUN_RETRIED'
      )
        this.#endAll(run, now);
      else if ('nodeId' in event) this.#ofNode(run, event, now);
    }
  }

  #ofNode(run: RunAddress, event: Extract<RunEvent, { nodeId: unknown }>, now: Instant): void {
    const wait = `${run.runId}#${nodeKey(event)}`;
    switch (event.type) {
      case 'SIGNAL_AWAITED':
        this.#waits.set(wait, { place: placeOf(run, event), what: wait, from: now, until: Infinity });
        break;
      case 'SIGNAL_RECEIVED': {
        runInvariant(11, !this.#givenAt.has(event.signalId), `signal ${event.signalId} was delivered twice`);
        runInvariant(9, !this.#refused.has(event.signalId), `signal ${event.signalId} should be refused but was delivered`);
        this.#givenAt.set(event.signalId, now);
        const place = placeOf(run, event);
        runInvariant(11, this.#waits.get(wait)?.place === place, `${wait} got a signal of ${place}, where it does not wait`);
        this.#givenNow.set(wait, { wait, place, signalId: event.signalId });
        const bufferedUntil = this.#bufferedUntil.get(event.signalId) ?? Infinity;
        runInvariant(
          11,
          !this.#isCalm || now <= bufferedUntil + 60_000,
          `signal ${event.signalId} was delivered after its expiry`,
        );
        const kept = this.#kept.get(event.signalId);
        if (kept !== undefined) kept.until = Math.min(kept.until, now);
        this.#end(wait, now);
        break;
      }
      case 'NODE_COMPLETED':
      case 'NODE_FAILED':
        if (event.type === 'NODE_COMPLETED') this.#brings(wait, event.output);
        if (this.#waits.has(wait)) this.unmet += 1;
        this.#end(wait, now);
        this.#endInside(event, wait, now);
        break;
      default:
        break;
    }
  }

  /** A client is about to send the signal and repeats it until it gets a response. */
  sent(sending: SignalSend): void {
    this.#sent.set(sending.signalId, sending);
  }

  /** @param output of an ended wait */
  #brings(wait: string, output: Payload): void {
    const given = this.#givenNow.get(wait);
    if (given === undefined) return;
    this.#givenNow.delete(wait);
    const value = 'value' in output ? output.value : undefined;
    // The output of a graph node has the signal's metadata; that of a code step has the payload only.
    const payload = value === undefined || !isJsonObject(value) ? undefined : (value['data'] ?? value['payload']);
    if (this.#sent.has(given.signalId)) this.#checkDelivered({ ...given, payload });
    else this.#unknown.push({ ...given, payload });
  }

  #checkDelivered({ wait, place, signalId, payload }: Given & { readonly payload: JsonValue | undefined }): void {
    const sent = this.#sent.get(signalId);
    runInvariant(11, sent !== undefined, `${wait} got signal ${signalId}, which no client sent`);
    const isThere = placeOf(sent.scope, sent) === place;
    runInvariant(11, isThere, `${wait} got signal ${signalId}, which was sent to ${placeOf(sent.scope, sent)}`);
    const [said, heard] = [JSON.stringify(sent.payload), JSON.stringify(payload)];
    runInvariant(11, said === heard, `${wait} got the payload ${heard} of signal ${signalId}, whose payload is ${said}`);
  }

  /** Runs when all senders are known, because code sends signals too. */
  checkSenders(): void {
    for (const given of this.#unknown) this.#checkDelivered(given);
  }

  /** The signal is sent with the key of another one. */
  refuses(signalId: string): void {
    this.#refused.add(signalId);
  }

  acknowledged(signal: SentSignal, isDelivered: boolean, now: Instant): void {
    const givenAt = this.#givenAt.get(signal.signalId);
    runInvariant(11, !isDelivered || givenAt !== undefined, `signal ${signal.signalId} was reported as delivered but was not`);
    this.#bufferedUntil.set(signal.signalId, signal.bufferedUntil);
    if (this.#kept.has(signal.signalId)) return;
    this.#kept.set(signal.signalId, {
      place: placeOf(signal.scope, signal),
      what: signal.signalId,
      from: now,
      until: Math.min(signal.bufferedUntil, givenAt ?? Infinity),
    });
  }

  /** @param isPlain no faults and no delays: signals and waits match at once */
  check(now: Instant, isPlain = false): void {
    const longestMs = isPlain ? longestPlainOverlapMs : maxOverlapMs;
    for (const wait of [...this.#ended, ...this.#waits.values()]) {
      for (const signal of this.#kept.values()) {
        if (signal.place !== wait.place) continue;
        const overlapMs = Math.min(signal.until, wait.until, now) - Math.max(signal.from, wait.from);
        this.maxOverlapMs = Math.max(this.maxOverlapMs, overlapMs);
        runInvariant(
          11,
          overlapMs <= longestMs,
          `${wait.what} waited for ${overlapMs} ms although the acknowledged signal ${signal.what} was stored`,
        );
      }
    }
  }

  /** The end of a loop ends the waits of its iterations. */
  #endInside({ nodeId, iteration }: Extract<RunEvent, { nodeId: unknown }>, loop: string, now: Instant): void {
    const pass = `@${iteration === '' ? '' : `${iteration}/`}${nodeId}[`;
    const run = loop.slice(0, loop.indexOf('#') + 1);
    for (const wait of this.#waits.keys()) if (wait.startsWith(run) && wait.includes(pass)) this.#end(wait, now);
  }

  #endAll({ runId }: RunAddress, now: Instant): void {
    for (const wait of this.#waits.keys()) if (wait.startsWith(`${runId}#`)) this.#end(wait, now);
  }

  #end(wait: string, now: Instant): void {
    const span = this.#waits.get(wait);
    if (span === undefined) return;
    span.until = now;
    this.#ended.push(span);
    this.#waits.delete(wait);
  }
}
