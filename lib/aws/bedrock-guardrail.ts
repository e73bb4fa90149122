/** Moderation by a guardrail of Bedrock. Whatever is not a clear yes stops the text. */
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
      if (action !== 'GUARDRAIL_INTERVENED') return { kind: 'unavailable', message: 'the guardrail gave no decision' };
      const policies = new Set((assessments ?? []).flatMap((each) => Object.keys(each).filter((key) => key.endsWith('Policy'))));
      return {
        kind: 'blocked',
        ...(policies.size === 0 ? {} : { policy: [...policies].join(', ') }),
        ...(actionReason === undefined ? {} : { reason: actionReason }),
      };
    } catch (trouble) {
      signal.throwIfAborted();
      return { kind: 'unavailable', message: `the guardrail could not be asked: ${nameOf(trouble)}` };
    }
  }
}

const nameOf = (trouble: unknown): string => (trouble instanceof Error ? trouble.name : 'for a reason that is not told');
