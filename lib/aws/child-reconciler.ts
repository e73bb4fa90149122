/** Reconciles called runs by an invocation of the function of the World, which may create runs of code and commit to all of them. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { parseReconciledChild, writeChildCall } from '../codec/job-calls.ts';
import type { ChildJob, ChildReconciler, ReconciledChild } from '../ports/jobs.ts';
import { callService } from './call-service.ts';

export class ReconcilerFunction implements ChildReconciler {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #functionName: string;

  constructor(client: Pick<LambdaClient, 'send'>, functionName: string) {
    this.#client = client;
    this.#functionName = functionName;
  }

  async reconcile(job: ChildJob): Promise<ReconciledChild> {
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload: Buffer.from(writeChildCall(job)) });
    try {
      const output = await callService('the function that reconciles runs', () => this.#client.send(command));
      // A message repeats what the function began before its error.
      if (output.FunctionError !== undefined) return { kind: 'needs_message' };
      return parseReconciledChild(Buffer.from(output.Payload ?? []).toString('utf8'));
    } catch {
      // The call was refused or had no answer, or another version of the function has answered in another form.
      return { kind: 'needs_message' };
    }
  }
}
