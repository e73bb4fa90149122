/** Limits of requests to the API: sizes, rates, idempotency. */
import { maxErrorDetails } from '../../lib/api/errors.ts';
import { maxIdempotencyKeyLength } from '../../lib/api/idempotency.ts';
import { smallLimitBytes } from '../../lib/api/route.ts';
import {
  batchLimitBytes,
  inputLimitBytes,
  resumeLimitBytes,
  signalLimitBytes,
  wakeLimitBytes,
} from '../../lib/api/run-routes.ts';
import { maxBatchStarts, maxWaitSeconds } from '../../lib/api/schemas/runs.ts';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import { stepwellDefaults } from '../../lib/constructs/functions.ts';
import { defaultConcurrency } from '../../lib/contract/concurrency.ts';
import { maxCorrelationIdLength } from '../../lib/engine/ids.ts';
import { jsonLimits } from '../../lib/engine/validate-json.ts';
import { apiLimits as gateway, lambdaLimits as lambda } from '../../lib/local/limits.ts';
import { defaultRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, bytes, characters, count, hour, hours, levels, phrase, seconds } from './limit.ts';

export const requests: LimitSection = {
  title: 'Requests',
  per: 'request',
  limits: [
    {
      name: 'Head of a request',
      value: bytes(gateway.headBytes),
      atLimit:
        '414 or 431, `invalid_request`. The request line and the values of the headers count together. A quota of API Gateway',
      definedIn: ['lib/local/limits.ts'],
      quota: pages.apiGateway,
    },
    {
      name: 'Gateway body',
      value: bytes(gateway.payloadBytes),
      atLimit: 'the gateway responds with `payload_too_large` (413). A quota of API Gateway',
      definedIn: ['lib/local/limits.ts'],
      quota: pages.apiGateway,
    },
    {
      name: 'Function body',
      value: bytes(lambda.payloadBytes),
      atLimit: 'the gateway responds with `payload_too_large` (413). A quota of Lambda, which counts the envelope too',
      definedIn: ['lib/local/limits.ts'],
      quota: pages.lambda,
    },
    {
      name: 'Response time of the API',
      value: seconds(functionShapes.api.timeoutSeconds * 1_000),
      atLimit: '`unavailable` (503). Repeat the request with the same idempotency key',
      definedIn: ['lib/constructs/function-shapes.ts'],
      quota: pages.apiGateway,
    },
    {
      name: 'Wait of a start for its run',
      value: seconds(maxWaitSeconds * 1_000),
      atLimit: '`invalid_request` (400) for a longer one. At the end of its time the response is 202, and the run continues',
      definedIn: ['lib/api/schemas/runs.ts'],
    },
    {
      name: 'Starts of a batch',
      value: count(maxBatchStarts),
      atLimit: '`invalid_request` (400), and nothing is started. Send several batches',
      definedIn: ['lib/api/schemas/runs.ts'],
    },
    {
      name: 'Body of a batch of starts',
      value: bytes(batchLimitBytes),
      atLimit: '`payload_too_large` (413), and nothing is started',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Nesting of a body',
      value: levels(jsonLimits.levels),
      atLimit: '`invalid_request` (400) with `too_deep`',
      definedIn: ['lib/engine/validate-json.ts'],
    },
    {
      name: 'Body that starts a run',
      value: bytes(inputLimitBytes),
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Body that cancels a run',
      value: bytes(smallLimitBytes),
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/route.ts'],
    },
    {
      name: 'Body that wakes a run',
      value: bytes(wakeLimitBytes),
      atLimit: '`payload_too_large` (413); it names at most 1,000 nodes',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Body that resumes a run',
      value: bytes(resumeLimitBytes),
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Body that sends a signal',
      value: bytes(signalLimitBytes),
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Idempotency key',
      value: characters(maxIdempotencyKeyLength),
      atLimit: '`invalid_request` (400). Only printable ASCII is allowed',
      definedIn: ['lib/api/idempotency.ts'],
    },
    {
      name: 'How long an idempotency key is remembered',
      value: hours(stepwellDefaults.idempotencyHours * hour),
      per: 'idempotency key',
      atLimit: 'after it, the same key starts a new run; setting `idempotencyHours`',
      definedIn: ['lib/constructs/functions.ts'],
    },
    {
      name: 'Correlation id',
      value: characters(maxCorrelationIdLength),
      atLimit: 'Stepwell replaces an id that is longer or not printable ASCII',
      definedIn: ['lib/engine/ids.ts'],
    },
    {
      name: 'Errors in one response',
      value: count(maxErrorDetails),
      atLimit: 'the response does not report the others',
      definedIn: ['lib/api/errors.ts'],
    },
    {
      name: 'Requests of a key',
      value: phrase`${count(defaultRateLimit)} a minute`,
      per: 'key',
      atLimit: '`rate_limited` (429) with `Retry-After`. A key can be created with another limit, or with none',
      definedIn: ['lib/service/access/rate-limiter.ts'],
    },
    {
      name: 'Requests of the stage',
      value: phrase`${count(defaultConcurrency.requestsPerSecond)} a second`,
      per: 'installation',
      atLimit:
        'the gateway responds with `rate_limited` (429); setting `requestsPerSecond`. The start API has a limit of its own of this size',
      definedIn: ['lib/contract/concurrency.ts'],
    },
    {
      name: 'Requests at the same moment',
      value: count(defaultConcurrency.requestBurst),
      per: 'installation',
      atLimit:
        'the gateway responds with `rate_limited` (429); setting `requestBurst`. The start API has a limit of its own of this size',
      definedIn: ['lib/contract/concurrency.ts'],
    },
  ],
};
