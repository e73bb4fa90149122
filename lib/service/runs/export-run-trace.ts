/** Exports the trace of an ended run to a collector. The run does not wait for it. A repeated export sends the same spans. */
import { type RunAddress, firstCommit } from '../../engine/ids.ts';
import { type Commit, isTombstone } from '../../engine/log/commit.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import { traceIdOf } from '../../engine/trace.ts';
import type { Span, Spans } from '../../ports/spans.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { readWindows } from '../run-log/read-windows.ts';
import { RunSpans, type TracePosition } from './run-spans.ts';
import { attemptSpanId, derivedTraceId } from './span-ids.ts';

/** About 300 KB as JSON; collectors accept a few megabytes. */
export const maxSpansPerRequest = 500;
/** Further spans are dropped; an attribute of the run's span contains their number. */
export const maxSpansPerRun = 10_000;

export type ExportResult =
  | { readonly kind: 'sent'; readonly spans: number; readonly dropped: number }
  /** the run no longer exists, is a test run, or its trace is not sampled */
  | { readonly kind: 'skipped' };

export interface ExportTerms {
  /** share of the traces without the caller's `sampled` flag; 1 to 100 */
  readonly samplePercent: number;
}

/** @throws Unavailable if the log or the collector cannot be reached, or the run has not ended; retry later */
export async function exportRunTrace(
  deps: Pick<Deps, 'log'>,
  spans: Spans,
  run: RunAddress,
  { samplePercent }: ExportTerms,
): Promise<ExportResult> {
  const head = await deps.log.head(run);
  if (head === undefined || isTestRun(head)) return { kind: 'skipped' };
  const position = await tracePositionOf(deps, head);
  if (!isSampled(head, position, samplePercent)) return { kind: 'skipped' };
  const spanReader = new RunSpans(head, position);
  const batches = new SpanBatches(spans);
  for await (const commit of readAllCommits(deps, head)) {
    if (isTombstone(commit)) return { kind: 'skipped' };
    await batches.add(spanReader.read(commit));
  }
  const endSpans = spanReader.end();
  if (endSpans === undefined) throw new Unavailable('the end of a run');
  await batches.add(endSpans.slice(0, -1));
  const { dropped } = batches;
  // The run's own span is always sent, as the last one.
  const [runSpan] = spanReader.end(dropped === 0 ? {} : { 'stepwell.spans_dropped': dropped })?.slice(-1) ?? [];
  await batches.finish(runSpan);
  return { kind: 'sent', spans: batches.sent, dropped };
}

async function* readAllCommits({ log }: Pick<Deps, 'log'>, { address, commit }: Head): AsyncGenerator<Commit, void, undefined> {
  yield commit;
  for await (const { commits, hasGap } of readWindows({ log }, address, { from: firstCommit, events: maxSpansPerRequest })) {
    yield* commits;
    if (hasGap) throw new Unavailable('a log without a hole');
  }
}

/** A child run belongs to the trace of its topmost caller. Its parent span is the attempt that called it. */
async function tracePositionOf({ log }: Pick<Deps, 'log'>, head: Head): Promise<TracePosition> {
  const caller = callerOf(head);
  const parentSpan = caller === undefined ? {} : { parentSpanId: attemptSpanId(caller.runId, caller, caller.attempt) };
  const { trace } = head;
  if (trace !== undefined) {
    const parentSpanId = spanIdIn(trace.traceparent);
    return { traceId: traceIdOf(trace.traceparent), parentSpanId, ...parentSpan };
  }
  let root = head;
  for (let ancestor = caller; ancestor !== undefined; ancestor = callerOf(root)) {
    const found = await log.head({ ...head.address, runId: ancestor.runId });
    if (found === undefined) return { traceId: derivedTraceId(ancestor.runId), ...parentSpan };
    root = found;
  }
  return { traceId: derivedTraceId(root.address.runId), ...parentSpan };
}

/** `00-<trace id>-<span id>-<flags>` */
const spanIdIn = (parent: string): string => parent.slice(36, 52);
const isSampledByCaller = ({ trace }: Head): boolean =>
  trace !== undefined && (Number.parseInt(trace.traceparent.slice(53), 16) & 1) === 1;

/** The trace id decides, so that all runs of a trace are sent or none (https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/). */
const isSampled = (head: Head, { traceId }: TracePosition, percent: number): boolean =>
  percent >= 100 || isSampledByCaller(head) || Number.parseInt(traceId.slice(-14), 16) < (percent / 100) * 2 ** 56;

class SpanBatches {
  readonly #spans: Spans;
  #pending: Span[] = [];
  sent = 0;
  dropped = 0;

  constructor(spans: Spans) {
    this.#spans = spans;
  }

  async add(spans: readonly Span[]): Promise<void> {
    for (const span of spans) {
      // Reserves one span for the run itself.
      if (this.sent + this.#pending.length >= maxSpansPerRun - 1) this.dropped += 1;
      else this.#pending.push(span);
      if (this.#pending.length >= maxSpansPerRequest) await this.#send();
    }
  }

  async finish(last: Span | undefined): Promise<void> {
    if (last !== undefined) this.#pending.push(last);
    if (this.#pending.length > 0) await this.#send();
  }

  async #send(): Promise<void> {
    const batch = this.#pending;
    this.#pending = [];
    await this.#spans.send(batch);
    this.sent += batch.length;
  }
}
