/** Limits of runs of the Workflow DevKit. */
import { worldLimitBytes } from '../../lib/api/world-routes.ts';
import { eventMargin, maxEvents } from '../../lib/engine/devkit/events.ts';
import { defaultWorldRateLimit } from '../../lib/service/access/rate-limiter.ts';
import { maxBatch } from '../../lib/service/kinds/devkit/create-batch.ts';
import { maxDevKitDeliveries } from '../../lib/service/kinds/devkit/deliver-message.ts';
import { maxQueuedMessageBytes } from '../../lib/service/kinds/devkit/queued-message.ts';
import { addressLifetime, maxInlineAnswerBytes, maxValueBytes, uploadRetention } from '../../lib/service/kinds/devkit/uploads.ts';
import { maxRunSecrets } from '../../lib/codec/run-secrets.ts';
import { maxPageSize } from '../../lib/service/kinds/devkit/read-events.ts';
import { type LimitSection, bytes, count, days, minutes } from './limit.ts';

export const devKitRuns: LimitSection = {
  title: 'Runs of the Workflow DevKit',
  per: 'run',
  limits: [
    {
      name: 'Events',
      value: count(maxEvents),
      atLimit: `the DevKit ends the run; after ${eventMargin.toLocaleString('en-US')} more, events are refused with \`event_limit\` (422)`,
      definedIn: ['lib/engine/devkit/events.ts'],
    },
    {
      name: 'Body of a request to the World',
      value: bytes(worldLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/world-routes.ts'],
    },
    {
      name: 'Value, as the DevKit serializes it',
      value: bytes(maxValueBytes),
      per: 'value',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/service/kinds/devkit/uploads.ts'],
    },
    {
      name: 'Value in an answer of the World',
      value: bytes(maxInlineAnswerBytes),
      per: 'value',
      atLimit: 'the answer has a presigned URL instead; less in answers with several entities',
      definedIn: ['lib/service/kinds/devkit/uploads.ts'],
    },
    {
      name: 'Presigned URL of an upload or of a value',
      value: minutes(addressLifetime),
      per: 'URL',
      atLimit: 'S3 refuses it; the client asks for another one',
      definedIn: ['lib/service/kinds/devkit/uploads.ts'],
    },
    {
      name: 'Upload that no event names',
      value: days(uploadRetention),
      per: 'upload',
      atLimit: 'it is deleted within the next day, and naming it fails with `upload_not_found` (409)',
      definedIn: ['lib/service/kinds/devkit/uploads.ts'],
    },
    {
      name: 'Secrets of the setting `devKitSecretArn`',
      value: count(maxRunSecrets),
      per: 'installation',
      atLimit: '`unavailable` (503) for every key of a run',
      definedIn: ['lib/codec/run-secrets.ts'],
    },
    {
      name: 'Events of a batch',
      value: count(maxBatch),
      per: 'request',
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/service/kinds/devkit/create-batch.ts'],
    },
    {
      name: 'Events of a page',
      value: count(maxPageSize),
      per: 'request',
      atLimit: 'the rest follows in the next page',
      definedIn: ['lib/service/kinds/devkit/read-events.ts'],
    },
    {
      name: 'Deliveries of a DevKit message',
      value: count(maxDevKitDeliveries),
      per: 'message',
      atLimit: 'the run fails with `undeliverable`; the DevKit ends it before, at the 49th',
      definedIn: ['lib/service/kinds/devkit/deliver-message.ts'],
    },
    {
      name: 'Message in the queue',
      value: bytes(maxQueuedMessageBytes),
      per: 'message',
      atLimit: 'a larger one waits in the bucket',
      definedIn: ['lib/service/kinds/devkit/queued-message.ts'],
    },
    {
      name: 'Requests to the World, by default',
      value: count(defaultWorldRateLimit),
      per: 'key and minute',
      atLimit: '`rate_limited` (429)',
      definedIn: ['lib/service/access/rate-limiter.ts'],
    },
  ],
};
