/** The messages between the cloud and the thread of a function. */
import type { MessagePort } from 'node:worker_threads';

export interface Invocation {
  readonly kind: 'invoke';
  readonly requestId: string;
  /** JSON text */
  readonly event: string;
  /** the invocation's deadline, in epoch milliseconds */
  readonly deadlineAt: number;
  /** the X-Ray trace header of the invocation */
  readonly traceHeader: string;
}

/** The function's error as the Lambda runtime reports it. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** One per chunk, once the reader has accepted it: a slow reader slows the function down. */
interface ChunkAck {
  readonly kind: 'chunk_ack';
}

export type ToThread = Invocation | ChunkAck;

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'load_failed'; readonly error: FunctionError }
  | { readonly kind: 'returned'; readonly payload: string }
  | { readonly kind: 'failed'; readonly error: FunctionError }
  /** a chunk of a streamed response; the first one has `contentType` */
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array; readonly contentType?: string }
  | { readonly kind: 'stream_ended'; readonly contentType?: string };

export interface ThreadData {
  /** the URL of the bundled module */
  readonly module: string;
  /** the name of its export */
  readonly handler: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly memoryMb: number;
  readonly logGroup: string;
  /** where Node stores its compile cache; undefined: nowhere */
  readonly cache?: string;
  /** pause after which an idle thread collects its garbage, in milliseconds. Default: five seconds */
  readonly idlePauseMs?: number;
  /** for requests to the gateway; undefined: they use HTTP */
  readonly gateway?: MessagePort;
}

/** Describes what a handler threw. A handler can throw any value, also one that has no text, and this function must not throw. */
export function describeThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'the handler threw a value that has no text';
  }
}
