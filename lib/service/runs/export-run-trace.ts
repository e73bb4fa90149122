/** Exports the trace of an ended run to a collector. The run does not wait for it. A repeated export sends the same spans. */
import { defined } from '../../base/defined.ts';
import { type RunAddress, firstCommit } from '../../engine/ids.ts';
import { type Commit, isTombstone } from '../../engine/log/commit.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { callerOf } from '../../engine/log/lineage.ts';
import { spanIdOf, traceIdOf } from '../../engine/trace.ts';
import type { Span, Spans } from '../../ports/spans.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { readWindows } from '../run-log/read-windows.ts';
import { RunSpans, type TracePosition } from './run-spans.ts';
import { attemptSpanId, callerSpanId, derivedTraceId } from './span-ids.ts';

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
  const ended = spanReader.end();
  if (ended === undefined) throw new Unavailable('the end of a run');
  await batches.add(ended.open);
  const { dropped } = batches;
  await batches.finish(dropped === 0 ? ended.last : (spanReader.end({ 'stepwell.spans_dropped': dropped })?.last ?? []));
  return { kind: 'sent', spans: batches.sent, dropped };
}

async function* readAllCommits({ log }: Pick<Deps, 'log'>, { address, commit }: Head): AsyncGenerator<Commit, void, undefined> {
  yield commit;
  for await (const { commits, hasGap } of readWindows({ log }, address, { from: firstCommit, events: maxSpansPerRequest })) {
    yield* commits;
    if (hasGap) throw new Unavailable('a log without a hole');
  }
}

/**
 * A child run belongs to the trace of its topmost caller. Its parent span is the attempt that called it. The parent of a run that a
 * request started is the span of the request, whose parent is the span that the request names in `traceparent`.
 */
async function tracePositionOf({ log }: Pick<Deps, 'log'>, head: Head): Promise<TracePosition> {
  const caller = callerOf(head);
  const parentSpan = caller === undefined ? {} : { parentSpanId: attemptSpanId(caller.runId, caller, caller.attempt) };
  const { trace } = head;
  if (trace !== undefined) {
    const traceId = traceIdOf(trace.traceparent);
    if (caller !== undefined) return { traceId, ...parentSpan };
    const request = defined({ spanId: spanIdOf(trace.traceparent), parentSpanId: callerSpanId(trace) });
    return { traceId, parentSpanId: request.spanId, request };
  }
  let root = head;
  for (let ancestor = caller; ancestor !== undefined; ancestor = callerOf(root)) {
    const found = await log.head({ ...head.address, runId: ancestor.runId });
    if (found === undefined) return { traceId: derivedTraceId(ancestor.runId), ...parentSpan };
    root = found;
  }
  return { traceId: derivedTraceId(root.address.runId), ...parentSpan };
}

const isSampledByCaller = ({ trace }: Head): boolean =>
  trace !== undefined && (Number.parseInt(trace.traceparent.slice(53), 16) & 1) === 1;

/** The trace id decides, so that all runs of a trace are sent or none (https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/). */
const isSampled = (head: Head, { traceId }: TracePosition, percent: number): boolean =>
  percent >= 100 || isSampledByCaller(head) || Number.parseInt(traceId.slice(-14), 16) < (percent / 100) * 2 ** 56;

/** The run and its request: always sent, as the last spans. */
const lastSpans = 2;

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
      if (this.sent + this.#pending.length >= maxSpansPerRun - lastSpans) this.dropped += 1;
      else this.#pending.push(span);
      if (this.#pending.length >= maxSpansPerRequest) await this.#send();
    }
  }

  /** Sends the rest and the spans that are never dropped. */
  async finish(last: readonly Span[]): Promise<void> {
    this.#pending.push(...last);
    if (this.#pending.length > 0) await this.#send();
  }

  async #send(): Promise<void> {
    const batch = this.#pending;
    this.#pending = [];
    await this.#spans.send(batch);
    this.sent += batch.length;
  }
}
