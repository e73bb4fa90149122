/** Limits of lens nodes and of the models that they call. */
import { maxContractErrors, maxFieldLength } from '../../lib/lens/check.ts';
import { providerKeyCacheMs } from '../../lib/models/provider-keys.ts';
import { maxPromptBytes } from '../../lib/nodes/lens/prompt.ts';
import { lensDefaults } from '../../lib/nodes/lens/shape.ts';
import { maxAttempts, maxTimeoutMs } from '../../lib/nodes/settings.ts';
import { maxResponseLength } from '../../lib/ports/models.ts';
import { type LimitSection, bytes, characters, count, minutes, phrase, seconds } from './limit.ts';

export const lenses: LimitSection = {
  title: 'Lenses',
  per: 'attempt',
  limits: [
    {
      name: 'Prompt of a lens',
      value: bytes(maxPromptBytes),
      atLimit: '`context_too_large`, cause `invalid`',
      definedIn: ['lib/nodes/lens/prompt.ts'],
    },
    {
      name: 'Attempts of a lens',
      value: phrase`${count(lensDefaults.retry.attempts)}, at most ${count(maxAttempts)}`,
      per: 'node',
      atLimit: 'as for other nodes; waits begin at 0.5 s',
      definedIn: ['lib/nodes/lens/shape.ts', 'lib/nodes/settings.ts'],
    },
    {
      name: 'Time of an attempt of a lens',
      value: phrase`${seconds(lensDefaults.timeoutMs)}, at most ${minutes(maxTimeoutMs)}`,
      atLimit: '`lens_timeout`, cause `timeout`',
      definedIn: ['lib/nodes/lens/shape.ts', 'lib/nodes/settings.ts'],
    },
    {
      name: 'Response of a model',
      value: characters(maxResponseLength),
      atLimit: '`answer_too_large`, cause `invalid`',
      definedIn: ['lib/ports/models.ts'],
    },
    {
      name: 'Errors reported of a contract',
      value: count(maxContractErrors),
      per: 'failure',
      atLimit: 'the failure does not report the others',
      definedIn: ['lib/lens/check.ts'],
    },
    {
      name: 'Field named by such an error',
      value: characters(maxFieldLength),
      per: 'error',
      atLimit: 'Stepwell truncates it',
      definedIn: ['lib/lens/check.ts'],
    },
    {
      name: 'Key of a provider in a warm worker',
      value: minutes(providerKeyCacheMs),
      per: 'worker',
      atLimit: 'the worker reads it again; at once after the provider refused it',
      definedIn: ['lib/models/provider-keys.ts'],
    },
  ],
};
