/** Calls of the functions that execute jobs. */
import { InvokeCommand, type InvokeCommandOutput, type LambdaClient } from '@aws-sdk/client-lambda';
import { parseJobCallAnswer, writeJobCall } from '../codec/job-calls.ts';
import type { JobCall, JobCallResult, JobCalls, WorkJob } from '../ports/jobs.ts';
import { Unreadable } from '../codec/unreadable.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';

/** The names of the functions; undefined: no function executes these jobs */
export interface JobFunctionNames {
  readonly worker: string | undefined;
  readonly code: string | undefined;
}

export class JobFunctions implements JobCalls {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #names: JobFunctionNames;

  /** @param client sends each request once: a second one could execute the job twice at the same time */
  constructor(client: Pick<LambdaClient, 'send'>, names: JobFunctionNames) {
    this.#client = client;
    this.#names = names;
  }

  async call(call: JobCall<WorkJob>, signal: AbortSignal): Promise<JobCallResult> {
    const isNode = call.job.kind === 'node';
    const FunctionName = isNode ? this.#names.worker : this.#names.code;
    if (FunctionName === undefined) return { kind: 'refused' };
    const command = new InvokeCommand({ FunctionName, Payload: Buffer.from(writeJobCall(call)) });
    let output: InvokeCommandOutput;
    try {
      output = await callService('the function of a job', () => this.#client.send(command, { abortSignal: signal }));
    } catch (error) {
      return { kind: wasRefused(error) ? 'refused' : 'unknown' };
    }
    if (output.FunctionError !== undefined) return { kind: 'unknown' };
    // Deployed code shares a process with the code function, so what that function says is no evidence of an end.
    return isNode ? answerIn(output) : { kind: 'ended' };
  }
}

/** Another version of the worker may answer in another form. Then the log tells the end. */
function answerIn({ Payload }: InvokeCommandOutput): JobCallResult {
  try {
    return parseJobCallAnswer(Buffer.from(Payload ?? []).toString('utf8'));
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { kind: 'ended' };
  }
}

/** Lambda refused the request before the function began: it is throttled, or the request is not permitted. */
const wasRefused = (error: unknown): boolean =>
  !(error instanceof Unavailable) || (error.cause instanceof Error && error.cause.name === 'TooManyRequestsException');
