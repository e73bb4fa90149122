/** Limits of keys, of webhooks, and of the settings of an installation. */
import { maxOriginCharacters, maxOrigins } from '../../lib/api/schemas/cors-origins.ts';
import { defaultOverlapSeconds, maxOverlapSeconds } from '../../lib/api/schemas/keys.ts';
import { maxSeedKeys } from '../../lib/api/schemas/seed-keys.ts';
import { webhookLimitBytes } from '../../lib/api/webhook-routes.ts';
import { maxEnvironmentBytes, tokenBytes } from '../../lib/constructs/environment-size.ts';
import { maxSettingsBytes } from '../../lib/constructs/first-key.ts';
import { minMaskedLength } from '../../lib/egress/secret-mask.ts';
import { keyCacheTtlMs, lastUseResolution } from '../../lib/service/access/authenticator.ts';
import { maxFailuresRecorded } from '../../lib/service/access/failure-budget.ts';
import { minIdempotencyTtl, payloadLimitBytes } from '../../lib/service/access/receive-webhook.ts';
import { secretCacheTtlMs } from '../../lib/service/access/secret-cache.ts';
import { expiryGrace } from '../../lib/service/access/stored-settings.ts';
import { toleranceLimits } from '../../lib/webhooks/provider.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, bytes, characters, count, days, hours, minutes, phrase, seconds } from './limit.ts';

export const access: LimitSection = {
  title: 'Keys, webhooks and settings',
  per: 'installation',
  limits: [
    {
      name: 'Keys of the configuration',
      value: count(maxSeedKeys),
      atLimit: 'the synthesis stops',
      definedIn: ['lib/api/schemas/seed-keys.ts'],
    },
    {
      name: 'A key in a warm function',
      value: seconds(keyCacheTtlMs),
      per: 'function',
      atLimit: 'the function reads it again, so a revoked key works for at most this time',
      definedIn: ['lib/service/access/authenticator.ts'],
    },
    {
      name: 'Last use of a key',
      value: hours(lastUseResolution),
      per: 'key',
      atLimit: 'the time of last use is exact to the hour: Stepwell writes it once for each hour of use',
      definedIn: ['lib/service/access/authenticator.ts'],
    },
    {
      name: 'Overlap of a rotation',
      value: phrase`${hours(defaultOverlapSeconds * 1_000)}, at most ${hours(maxOverlapSeconds * 1_000)}`,
      per: 'key',
      atLimit: 'a longer one is refused with `invalid_request`',
      definedIn: ['lib/api/schemas/keys.ts'],
    },
    {
      name: 'Failed authentications recorded',
      value: phrase`${count(maxFailuresRecorded)} a minute`,
      per: 'function',
      atLimit:
        'a log line counts the rest. The limit applies to a warm function, for each key that is named and for all requests without one',
      definedIn: ['lib/service/access/failure-budget.ts'],
    },
    {
      name: 'Body of a webhook',
      value: bytes(webhookLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/webhook-routes.ts'],
    },
    {
      name: 'Payload of a webhook for a run or a signal',
      value: bytes(payloadLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413), if its target is a run to resume or a signal',
      definedIn: ['lib/service/access/receive-webhook.ts'],
    },
    {
      name: 'How long a delivery is remembered',
      value: hours(minIdempotencyTtl),
      per: 'delivery',
      atLimit: 'after it, the same id starts a new run. The memory is longer if `idempotencyHours` is',
      definedIn: ['lib/service/access/receive-webhook.ts'],
    },
    {
      name: "Tolerance of a signature's time",
      value: phrase`${seconds(toleranceLimits.standard * 1_000)}, at most ${seconds(toleranceLimits.max * 1_000)}`,
      per: 'request',
      atLimit: '`invalid_signature` (401); setting `toleranceSeconds`',
      definedIn: ['lib/webhooks/provider.ts'],
    },
    {
      name: 'A secret in a warm function',
      value: minutes(secretCacheTtlMs),
      per: 'function',
      atLimit: 'the function reads it again; the secret of a webhook also after a mismatch, at most every 30 s',
      definedIn: ['lib/service/access/secret-cache.ts'],
    },
    {
      name: 'Secret masked in a node’s output',
      value: characters(minMaskedLength),
      per: 'secret',
      atLimit: 'Stepwell does not remove a shorter one from outputs and errors',
      definedIn: ['lib/egress/secret-mask.ts'],
    },
    {
      name: 'Large settings of the configuration',
      value: bytes(maxSettingsBytes),
      atLimit:
        'the synthesis stops. `seedKeys`, `webhooks`, `secrets`, `models`, `moderation`, `databases`, `codeVariables` and `console` count together, as JSON',
      definedIn: ['lib/constructs/first-key.ts'],
    },
    {
      name: 'An older version of a large setting',
      value: days(expiryGrace),
      per: 'setting',
      atLimit: 'it is deleted. Processes that still use it keep what they have read',
      definedIn: ['lib/service/access/stored-settings.ts'],
    },
    {
      name: 'Environment variables of a function',
      value: bytes(maxEnvironmentBytes),
      per: 'function',
      atLimit:
        "the synthesis stops and names the function and its largest variable. The embedded cloud refuses the function with Lambda's error message",
      definedIn: ['lib/constructs/environment-size.ts'],
      quota: pages.lambda,
    },
    {
      name: 'A token in environment variables',
      value: bytes(tokenBytes),
      per: 'variable',
      atLimit: 'the size that the synthesis assumes for a name, URL or ARN that only the deployment knows',
      definedIn: ['lib/constructs/environment-size.ts'],
    },
    {
      name: 'Origins of web pages',
      value: phrase`${count(maxOrigins)}; ${characters(maxOriginCharacters)} together`,
      atLimit: 'the synthesis stops. The list is in an environment variable, and a function has 4 KB for all of them',
      definedIn: ['lib/api/schemas/cors-origins.ts'],
    },
  ],
};
