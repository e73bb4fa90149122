/** Runs lens nodes with a scripted model and a moderation that flags one word. */
import { WordModeration } from '../../lib/models/moderation.ts';
import { type AttemptRunner, createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { Models } from '../../lib/ports/models.ts';
import type { Lenses } from '../../lib/ports/versions.ts';
import type { Topology } from './topology.ts';

/** Moderation flags this word in a prompt and in an answer. */
export const flaggedWord = 'gunpowder';

export function lensAttempts({ name, answers = {} }: Topology, lenses: Lenses): AttemptRunner {
  const models: Models = {
    // The token identifies the attempt: `run/node/attempt`.
    attachmentError: async () => undefined,
    execute: async (_request, { idempotencyToken }) => {
      const [node = '', attempt] = idempotencyToken.split('/').slice(1);
      const told = answers[node.replace(/@.*$/, '')] ?? [];
      const answer = told[Math.min(Number(attempt), told.length) - 1];
      if (answer === undefined) throw new Error(`${name} does not say what the model answers to ${node}`);
      return answer;
    },
  };
  return createAttemptRunner(createRunners({ lens: { lenses, models, moderation: new WordModeration([flaggedWord]) } }));
}
