/** Reconciles called runs by an invocation of the function of the World, which may create runs of code and commit to all of them. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { parseReconciledChild, writeChildCall } from '../codec/job-calls.ts';
import type { ChildReconciler, ReconcileRequest, ReconciledChild } from '../ports/jobs.ts';
import { callService } from './call-service.ts';

export class ReconcilerFunction implements ChildReconciler {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #functionName: string;
  readonly #report: (reason: unknown) => void;

  /** @param report takes why a call was not executed: a message replaces it, so nothing else would show it */
  constructor(client: Pick<LambdaClient, 'send'>, functionName: string, report: (reason: unknown) => void) {
    this.#client = client;
    this.#functionName = functionName;
    this.#report = report;
  }

  async reconcile(request: ReconcileRequest): Promise<ReconciledChild> {
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload: Buffer.from(writeChildCall(request)) });
    try {
      const output = await callService('the function that reconciles runs', () => this.#client.send(command));
      const { FunctionError } = output;
      // A message repeats what the function began before its error.
      if (FunctionError !== undefined) throw new Error(`the function that reconciles runs failed: ${FunctionError}`);
      return parseReconciledChild(Buffer.from(output.Payload ?? []).toString('utf8'));
    } catch (error) {
      this.#report(error);
      // The call was refused or had no answer, or another version of the function has answered in another form.
      return { kind: 'needs_message' };
    }
  }
}
