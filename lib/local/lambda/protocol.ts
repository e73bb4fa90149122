/** What travels between the cloud and the thread that runs a function. */

export interface Invocation {
  readonly kind: 'invoke';
  readonly requestId: string;
  /** JSON text */
  readonly event: string;
  /** epoch milliseconds at which the function's time is over */
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

/** One for every chunk, once it has been passed on: a slow reader slows the function down. */
interface ChunkAck {
  readonly kind: 'chunk_ack';
}

export type ToThread = Invocation | ChunkAck;

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'load_failed'; readonly error: FunctionError }
  | { readonly kind: 'returned'; readonly payload: string }
  | { readonly kind: 'failed'; readonly error: FunctionError }
  /** a piece of a streamed response; `contentType` with the first */
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
  /** where Node keeps what it makes of modules; undefined: nowhere */
  readonly cache?: string;
}
