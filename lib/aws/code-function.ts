/** Requests for webhooks of apps, by an invocation of the function that runs deployed code. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { parseWebhookAnswer, writeWebhookCall } from '../codec/webhook-calls.ts';
import type { WebhookAnswer, WebhookCall, WebhookCalls } from '../ports/devkit.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';

export class CodeFunction implements WebhookCalls {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #functionName: string;

  constructor(client: Pick<LambdaClient, 'send'>, functionName: string) {
    this.#client = client;
    this.#functionName = functionName;
  }

  async resume(call: WebhookCall): Promise<WebhookAnswer> {
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload: Buffer.from(writeWebhookCall(call)) });
    const output = await callService('the function of deployed code', () => this.#client.send(command));
    const text = Buffer.from(output.Payload ?? []).toString('utf8');
    const answer = output.FunctionError === undefined ? parseWebhookAnswer(text) : undefined;
    if (answer === undefined) throw new Unavailable('the function of deployed code');
    return answer;
  }
}
