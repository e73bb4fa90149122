/** Limits of the run log: events, values, commits, snapshots. */
import { packAboveBytes } from '../../lib/codec/packed.ts';
import { maxPartBytes } from '../../lib/engine/durable/split-command-batch.ts';
import { eventLimits } from '../../lib/engine/log/event-limits.ts';
import { firstSnapshotAt } from '../../lib/engine/log/stored-fold.ts';
import { maxLostPuts, maxPutAttempts } from '../../lib/service/run-log/append.ts';
import {
  maxCommitBytes,
  maxInlineBytes,
  maxInlineUncompressedBytes,
  maxInputInHeadBytes,
} from '../../lib/service/run-log/payloads.ts';
import { maxSnapshotItemBytes } from '../../lib/service/run-log/snapshots.ts';
import { maxWakesPerCommit } from '../../lib/service/kinds/code/code-kind.ts';
import { type LimitSection, bytes, characters, count } from './limit.ts';

export const log: LimitSection = {
  title: 'The log',
  per: 'commit',
  limits: [
    {
      name: 'Reason in an event',
      value: characters(eventLimits.reason),
      per: 'event',
      atLimit: 'Stepwell truncates the remark of a cancel or a resumption',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Nodes that a recovery names',
      value: count(eventLimits.nodes),
      per: 'event',
      atLimit: 'the others are recovered too, but the event does not name them',
      definedIn: ['lib/engine/log/event-limits.ts'],
    },
    {
      name: 'Value that is stored uncompressed',
      value: bytes(packAboveBytes),
      per: 'value',
      atLimit: 'Stepwell compresses a larger value',
      definedIn: ['lib/codec/packed.ts'],
    },
    {
      name: 'Value in a commit, compressed',
      value: bytes(maxInlineBytes),
      per: 'value',
      atLimit: 'Stepwell stores a larger value once in the bucket, and passes a reference',
      definedIn: ['lib/service/run-log/payloads.ts'],
    },
    {
      name: 'Value in a commit, as it is',
      value: bytes(maxInlineUncompressedBytes),
      per: 'value',
      atLimit: 'a larger value goes to the bucket, even if it compresses well',
      definedIn: ['lib/service/run-log/payloads.ts'],
    },
    {
      name: 'Commit, compressed',
      value: bytes(maxCommitBytes),
      atLimit:
        'its values go to the bucket until it fits; an item of DynamoDB holds 400 KB. A commit that does not fit then ends the run with `commit_too_large`',
      definedIn: ['lib/service/run-log/payloads.ts'],
    },
    {
      name: 'Inline text of a command batch in a commit',
      value: bytes(maxPartBytes),
      atLimit: 'further commits take the rest. Names, messages and printed lines of its steps count',
      definedIn: ['lib/engine/durable/split-command-batch.ts'],
    },
    {
      name: 'Sleeps woken by one commit',
      value: count(maxWakesPerCommit),
      atLimit: 'further commits wake the others. Applies to code runs',
      definedIn: ['lib/service/kinds/code/code-kind.ts'],
    },
    {
      name: 'Input in the head',
      value: bytes(maxInputInHeadBytes),
      per: 'run',
      atLimit: 'a larger input is an item of its own, or an object in the bucket',
      definedIn: ['lib/service/run-log/payloads.ts'],
    },
    {
      name: 'First snapshot',
      value: count(firstSnapshotAt, 'commits'),
      per: 'run',
      atLimit: 'the next ones follow whenever the log has grown by half',
      definedIn: ['lib/engine/log/stored-fold.ts'],
    },
    {
      name: 'Snapshot, compressed',
      value: bytes(maxSnapshotItemBytes),
      per: 'snapshot',
      atLimit: 'a larger snapshot is stored in the bucket',
      definedIn: ['lib/service/run-log/snapshots.ts'],
    },
    {
      name: 'Lost puts of one commit',
      value: count(maxLostPuts),
      atLimit: 'SQS redelivers the message later',
      definedIn: ['lib/service/run-log/append.ts'],
    },
    {
      name: 'Tries of one put',
      value: count(maxPutAttempts),
      per: 'put',
      atLimit: 'if the outcome is still unknown, SQS redelivers the message later; the API responds with `unavailable`',
      definedIn: ['lib/service/run-log/append.ts'],
    },
  ],
};
