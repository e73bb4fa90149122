/** Moderation with a Bedrock guardrail. Only the action NONE allows a text. */
import { defined } from '../base/defined.ts';
import { ApplyGuardrailCommand, type BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime';
import type { Decision, Moderation, ModerationPhase } from '../ports/moderation.ts';

export class BedrockGuardrail implements Moderation {
  readonly #client: BedrockRuntimeClient;
  readonly #guardrail: { readonly arn: string; readonly version: string };

  constructor(client: BedrockRuntimeClient, guardrail: { readonly arn: string; readonly version: string }) {
    this.#client = client;
    this.#guardrail = guardrail;
  }

  async check(phase: ModerationPhase, text: string, signal: AbortSignal): Promise<Decision> {
    if (text === '') return { kind: 'allowed' };
    const command = new ApplyGuardrailCommand({
      guardrailIdentifier: this.#guardrail.arn,
      guardrailVersion: this.#guardrail.version,
      source: phase === 'input' ? 'INPUT' : 'OUTPUT',
      content: [{ text: { text } }],
    });
    try {
      const { action, actionReason, assessments } = await this.#client.send(command, { abortSignal: signal });
      if (action === 'NONE') return { kind: 'allowed' };
      if (action !== 'GUARDRAIL_INTERVENED') return { kind: 'unavailable', message: 'the guardrail returned no decision' };
      const policies = new Set((assessments ?? []).flatMap((each) => Object.keys(each).filter((key) => key.endsWith('Policy'))));
      return defined({
        kind: 'blocked',
        policy: policies.size === 0 ? undefined : [...policies].join(', '),
        reason: actionReason,
      });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'unavailable', message: `the request to the guardrail failed: ${errorName(error)}` };
    }
  }
}

const errorName = (error: unknown): string => (error instanceof Error ? error.name : 'unknown error');
