/** Handles the events of ended runs, ten at a time, and exports the trace of each run. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { environment, projectId, runId } from '../../lib/codec/ids.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { exportRunTrace } from '../../lib/service/runs/export-run-trace.ts';
import type { Tracing } from './wiring.ts';

/** The EventBridge envelope. Events may get more members later, so unknown members are ignored. */
const endedRunEvent = z.object({ detail: z.object({ projectId, environment, runId }) });

export interface TraceTools {
  readonly deps: Pick<Deps, 'log'>;
  readonly tracing: () => Tracing;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

/** @throws if every message failed, so that Lambda counts an error: the collector is unreachable or rejects the traces */
export async function exportEndedRuns({ deps, tracing, logger }: TraceTools, { Records }: SQSEvent): Promise<SQSBatchResponse> {
  const { spans, samplePercent } = tracing();
  const outcomes = await Promise.all(
    Records.map(async ({ messageId, body }: SQSRecord) => {
      const parsed = endedRunEvent.safeParse(parseJson(body));
      // Not reported as a failure: a redelivery could not parse it either.
      if (!parsed.success) return logger.error('run event cannot be parsed', { messageId, error: parsed.error });
      const { detail: run } = parsed.data;
      try {
        const exported = await exportRunTrace(deps, spans, run, { samplePercent });
        if (exported.kind === 'sent') logger.info('trace exported', { runId: run.runId, ...exported });
        return undefined;
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        logger.error('trace export failed', { runId: run.runId, error });
        return { messageId, error };
      }
    }),
  );
  const failed = outcomes.filter((outcome) => outcome !== undefined);
  const [first] = failed;
  if (first !== undefined && failed.length === Records.length) throw first.error;
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
