/** Sends the trace of a run that has ended. Nothing of the run waits for it, and it may be done again: the spans are the same. */
import { type RunAddress, firstCommit } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { isForgotten } from '../engine/log/forgotten.ts';
import { type Head, isTestRun } from '../engine/log/head.ts';
import { callerOf } from '../engine/log/lineage.ts';
import { traceIdOf } from '../engine/trace.ts';
import type { Span, Spans } from '../ports/spans.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { windowsOf } from './read-windows.ts';
import { RunSpans, type TracePlace } from './run-spans.ts';
import { attemptSpanId, ownTraceId } from './span-ids.ts';

/** About 300 KB as JSON: collectors take a few megabytes. */
export const mostSpansOfRequest = 500;
/** What comes after is counted, in an attribute of the run. */
export const mostSpansOfRun = 10_000;

export type Exported =
  | { readonly kind: 'sent'; readonly spans: number; readonly dropped: number }
  /** there is no such run any more, it is a test, or its trace is none of those that are sent */
  | { readonly kind: 'passed over' };

export interface ExportTerms {
  /** of the traces whose caller did not ask for them by the flag `sampled`; 1 to 100 */
  readonly samplePercent: number;
}

/** @throws Unavailable where the log or the collector cannot be reached: to be asked for again */
export async function exportRun(
  deps: Pick<Deps, 'log'>,
  spans: Spans,
  run: RunAddress,
  { samplePercent }: ExportTerms,
): Promise<Exported> {
  const head = await deps.log.head(run);
  if (head === undefined || isTestRun(head)) return { kind: 'passed over' };
  const place = await placeOf(deps, head);
  if (!isSampled(head, place, samplePercent)) return { kind: 'passed over' };
  const read = new RunSpans(head, place);
  const outgoing = new Batches(spans);
  for await (const commit of commitsOf(deps, head)) {
    if (isForgotten(commit)) return { kind: 'passed over' };
    await outgoing.add(read.read(commit));
  }
  const left = read.end();
  if (left === undefined) throw new Unavailable('the end of a run');
  await outgoing.add(left.slice(0, -1));
  const { dropped } = outgoing;
  // The run itself is sent whatever was dropped, and last.
  const [own] = read.end(dropped === 0 ? {} : { 'stepwell.spans_dropped': dropped })?.slice(-1) ?? [];
  await outgoing.finish(own);
  return { kind: 'sent', spans: outgoing.sent, dropped };
}

async function* commitsOf({ log }: Pick<Deps, 'log'>, { address, commit }: Head): AsyncGenerator<Commit, void, undefined> {
  yield commit;
  for await (const { commits, isTorn } of windowsOf({ log }, address, { from: firstCommit, events: mostSpansOfRequest })) {
    yield* commits;
    if (isTorn) throw new Unavailable('a log without a hole');
  }
}

/** A run that another called is below the attempt that called it, in the trace of the first of them. */
async function placeOf({ log }: Pick<Deps, 'log'>, head: Head): Promise<TracePlace> {
  const caller = callerOf(head);
  const below = caller === undefined ? {} : { parentSpanId: attemptSpanId(caller.runId, caller, caller.attempt) };
  const { trace } = head;
  if (trace !== undefined) {
    const parentSpanId = spanIdIn(trace.traceparent);
    return { traceId: traceIdOf(trace.traceparent), parentSpanId, ...below };
  }
  let root = head;
  for (let above = caller; above !== undefined; above = callerOf(root)) {
    const found = await log.head({ ...head.address, runId: above.runId });
    if (found === undefined) return { traceId: ownTraceId(above.runId), ...below };
    root = found;
  }
  return { traceId: ownTraceId(root.address.runId), ...below };
}

/** `00-<trace id>-<span id>-<flags>` */
const spanIdIn = (parent: string): string => parent.slice(36, 52);
const isAskedFor = ({ trace }: Head): boolean =>
  trace !== undefined && (Number.parseInt(trace.traceparent.slice(53), 16) & 1) === 1;

/** All runs of a trace are sent, or none: what decides is the trace's id (https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/). */
const isSampled = (head: Head, { traceId }: TracePlace, percent: number): boolean =>
  percent >= 100 || isAskedFor(head) || Number.parseInt(traceId.slice(-14), 16) < (percent / 100) * 2 ** 56;

class Batches {
  readonly #spans: Spans;
  #waiting: Span[] = [];
  sent = 0;
  dropped = 0;

  constructor(spans: Spans) {
    this.#spans = spans;
  }

  async add(spans: readonly Span[]): Promise<void> {
    for (const span of spans) {
      // One is kept for the run itself.
      if (this.sent + this.#waiting.length >= mostSpansOfRun - 1) this.dropped += 1;
      else this.#waiting.push(span);
      if (this.#waiting.length >= mostSpansOfRequest) await this.#send();
    }
  }

  async finish(last: Span | undefined): Promise<void> {
    if (last !== undefined) this.#waiting.push(last);
    if (this.#waiting.length > 0) await this.#send();
  }

  async #send(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    await this.#spans.send(batch);
    this.sent += batch.length;
  }
}
