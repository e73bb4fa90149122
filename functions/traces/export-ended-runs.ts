/** Takes the events of runs that have ended, ten at a time, and sends the trace of each. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { environment, projectId, runId } from '../../lib/codec/ids.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { exportRunTrace } from '../../lib/service/runs/export-run-trace.ts';
import type { Tracing } from './wiring.ts';

/** As EventBridge wraps it. Members are added to events: those that are not needed are left unread. */
const endedRunEvent = z.object({ detail: z.object({ projectId, environment, runId }) });

export interface TraceTools {
  readonly deps: Pick<Deps, 'log'>;
  readonly tracing: () => Tracing;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

/** @throws where no message was worked off, so that Lambda counts an error: the collector cannot be reached, or refuses. */
export async function exportEndedRuns({ deps, tracing, logger }: TraceTools, { Records }: SQSEvent): Promise<SQSBatchResponse> {
  const { spans, samplePercent } = tracing();
  const outcomes = await Promise.all(
    Records.map(async ({ messageId, body }: SQSRecord) => {
      const parsed = endedRunEvent.safeParse(parseJson(body));
      // It would be as unreadable the next time.
      if (!parsed.success) return logger.error('an event of a run cannot be read', { messageId, error: parsed.error });
      const { detail: run } = parsed.data;
      try {
        const exported = await exportRunTrace(deps, spans, run, { samplePercent });
        if (exported.kind === 'sent') logger.info('a trace was sent', { runId: run.runId, ...exported });
        return undefined;
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        logger.error('a trace could not be sent', { runId: run.runId, error });
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
