/** Records the calls to the cloud's services, for listeners such as the bill and the tests. */

export interface RecordedCall {
  /** the calling function; 'pollers' for the polls of event sources; 'schedules' for the scheduler */
  readonly caller: string;
  /** `dynamodb`, `sqs`, `s3`, `scheduler`, `events`, `lambda`, `apigateway`, `apigatewayv2` (the HTTP API) */
  readonly service: string;
  readonly operation: string;
  /** the parsed request where the service speaks JSON */
  readonly input: unknown;
  readonly requestBytes: number;
  readonly status: number;
  /** the raw response; parsed only by those who need it */
  readonly response: Buffer;
  readonly tookMs: number;
}

/**
 * The least time of a call, for a bench that imitates the services and the network of AWS: the embedded cloud handles the call meanwhile.
 * Messages, their receipt and invocations take this time in addition. The embedded cloud itself delays nothing. The operation `receipt` of
 * SQS is the time of a message until its event source has it.
 */
export type CallDelay = (service: string, operation: string) => Promise<void>;

type CallListener = (call: RecordedCall) => void;

export interface Recorder {
  record(call: RecordedCall): void;
  /** Calls the listener for every later call; returns a function that stops it. */
  listen(listener: CallListener): () => void;
}

export function createRecorder(): Recorder {
  const listeners = new Set<CallListener>();
  return {
    record(call) {
      for (const listener of listeners) listener(call);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
