/** Calls of the World by an invocation of the function that serves it. */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import * as z from 'zod';
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { WorldAnswer, WorldCalls } from '../ports/world-calls.ts';
import { callService } from './call-service.ts';

const answerShape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answered'), value: z.json() }),
  z.object({
    kind: z.literal('refused'),
    status: z.int(),
    code: z.string(),
    message: z.string(),
    retryAfter: z.number().exactOptional(),
  }),
]);

export class WorldFunction implements WorldCalls {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #functionName: string;

  constructor(client: Pick<LambdaClient, 'send'>, functionName: string) {
    this.#client = client;
    this.#functionName = functionName;
  }

  async call({ projectId, environment }: Scope, method: string, body: JsonValue): Promise<WorldAnswer> {
    const Payload = Buffer.from(JSON.stringify({ worldCall: { scope: { projectId, environment }, method, body } }));
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload });
    const output = await callService('the function of the World', () => this.#client.send(command));
    const text = Buffer.from(output.Payload ?? []).toString('utf8');
    const answer = output.FunctionError === undefined ? answerShape.safeParse(JSON.parse(text)) : undefined;
    if (answer?.success !== true) throw new Unavailable('the function of the World');
    return answer.data.kind === 'answered' ? { kind: 'answered', json: JSON.stringify(answer.data.value) } : answer.data;
  }
}
