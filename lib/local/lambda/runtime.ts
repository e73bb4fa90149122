/**
 * The code of a function's thread: emulates Node's Lambda runtime for a handler.
 * It loads the module once and then runs one invocation at a time.
 */
import { followClock } from '../clock/shifted-clock.ts';
import { defined } from '../../base/defined.ts';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import { offerTransport } from '../../contract/call-transport.ts';
import { startIdleCollection } from '../idle-collection.ts';
import { gatewayTransport } from './gateway-transport.ts';
import {
  type FromThread,
  type FunctionError,
  type Invocation,
  type ThreadData,
  type ToThread,
  describeThrown,
} from './protocol.ts';
import { createResponseStream, isStreamified, streaming, type ResponseStream } from './response-stream.ts';

type Handler = (event: unknown, context: Context) => unknown;
type StreamHandler = (event: unknown, stream: ResponseStream, context: Context) => unknown;

const port = parentPort;
if (port === null) throw new Error('This module must run in a worker thread');
const data: ThreadData = workerData;
const send = (message: FromThread): void => port.postMessage(message);

Object.assign(globalThis, { awslambda: streaming });

const isHandler = (value: unknown): value is Handler & StreamHandler => typeof value === 'function';

function describe(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: describeThrown(error) };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}

function contextOf({ requestId, deadlineAt }: Invocation): Context {
  const unsupportedCallback = (): never => {
    throw new Error('This runtime does not support callbacks: return the result from the handler');
  };
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: data.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: data.functionArn,
    memoryLimitInMB: String(data.memoryMb),
    awsRequestId: requestId,
    logGroupName: data.logGroup,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, deadlineAt - Date.now()),
    done: unsupportedCallback,
    fail: unsupportedCallback,
    succeed: unsupportedCallback,
  };
}

/** Called for each chunk that the reader has accepted. */
let onChunkAck: () => void = () => {};

async function run(handler: Handler & StreamHandler, invocation: Invocation): Promise<void> {
  try {
    const event: unknown = JSON.parse(invocation.event);
    if (isStreamified(handler)) {
      const { stream, acknowledgeChunk, finished } = createResponseStream(send);
      onChunkAck = acknowledgeChunk;
      await handler(event, stream, contextOf(invocation));
      if (!stream.writableEnded) stream.end();
      await finished;
    } else {
      const result = await handler(event, contextOf(invocation));
      send({ kind: 'returned', payload: JSON.stringify(result) ?? 'null' });
    }
  } catch (error) {
    // For the operator: console writes to the function's log.
    console.error(error);
    send({ kind: 'failed', error: describe(error) });
  }
}

async function load(): Promise<void> {
  followClock();
  if (data.gateway !== undefined) offerTransport(gatewayTransport(data.gateway));
  if (data.cache !== undefined) enableCompileCache(data.cache);
  const module: Record<string, unknown> = await import(data.module);
  const handler = module[data.handler];
  if (!isHandler(handler)) {
    send({
      kind: 'load_failed',
      error: { errorType: 'Runtime.HandlerNotFound', errorMessage: `${data.handler} is undefined or not exported` },
    });
    return;
  }
  const collection = startIdleCollection(defined({ pauseMs: data.idlePauseMs }));
  port?.on('message', (message: ToThread) => {
    collection.onWork();
    if (message.kind === 'chunk_ack') onChunkAck();
    else {
      // A thread runs one invocation at a time, so it can set its own environment.
      process.env['_X_AMZN_TRACE_ID'] = message.traceHeader;
      void run(handler, message);
    }
  });
  send({ kind: 'ready' });
  flushCompileCache();
}

load().catch((error: unknown) => {
  console.error(error);
  send({ kind: 'load_failed', error: describe(error) });
});
