/** Sends the traces of runs that have ended to a collector. Nothing waits for it. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { deciderOf, loggerOf } from '../wiring.ts';
import { exportEndedRuns } from './export-ended-runs.ts';
import { createTracing } from './wiring.ts';

const { deps } = deciderOf('traces');
const tools = { deps, tracing: createTracing(deps.clock), logger: loggerOf('traces') };

export const handler = (event: SQSEvent): Promise<SQSBatchResponse> => exportEndedRuns(tools, event);
