/** Sends the traces of ended runs to a trace collector. Runs never wait for it. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { deciderOf, loggerOf } from '../wiring.ts';
import { exportEndedRuns } from './export-ended-runs.ts';
import { createTracing } from './wiring.ts';

const { deps } = deciderOf('traces');
const tools = { deps, tracing: createTracing(deps.clock), logger: loggerOf('traces') };

export const handler = (event: SQSEvent): Promise<SQSBatchResponse> => exportEndedRuns(tools, event);
