/** Fixture: requests to models, and calls that record their streamed text. */
import { instant } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemorySecrets } from '../../lib/memory/secrets.ts';
import { ProviderKeys } from '../../lib/models/provider-keys.ts';
import type { CallSecrets, ModelRequest } from '../../lib/ports/models.ts';

export const arn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:models/one-AbCdEf';
export const apiKey = 'sk-a-very-secret-key';

export const keysGiven = () => {
  const secrets = new MemorySecrets();
  secrets.create(arn, apiKey);
  const clock = new MemoryClock(instant(0));
  return { secrets, clock, keys: new ProviderKeys(secrets, clock) };
};

export const requestOf = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  modelId: 'default',
  prompt: 'Say hello',
  params: {},
  attachments: [],
  ...more,
});

/** A call that records text and can be aborted. */
export const callOf = () => {
  const heard: string[] = [];
  const stop = new AbortController();
  const hidden: string[] = [];
  const call = {
    signal: stop.signal,
    idempotencyToken: 'run/node/1',
    onText: (text: string) => void heard.push(text),
    secrets: {
      resolve: async (name: string): ReturnType<CallSecrets['resolve']> =>
        name === 'own-key'
          ? { text: 'sk-of-the-project' }
          : { failure: { cause: 'forbidden', code: 'secret_not_allowed', message: `not ${name}` } },
      addRedaction: (_name: string, text: string) => void hidden.push(text),
    },
  };
  return { heard, hidden, stop, call };
};
