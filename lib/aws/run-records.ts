/** The records of runs on AWS: the log and the index in the runs table, and large values in the bucket. */
import { type Makers, once } from '../base/lazy.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { RunRecordPorts } from '../ports/run-records.ts';
import { S3Blobs } from './blobs.ts';
import type { Resources } from './resources.ts';
import type { MessageHeads } from './run-heads.ts';
import { DynamoRunIndex } from './run-index.ts';
import { DynamoRunLog } from './run-log.ts';

/** @param messageHeads as in `awsPorts` */
export const runRecordPorts = (
  resources: Resources,
  wrapLog: (log: RunLog) => RunLog,
  messageHeads: MessageHeads | undefined,
): Makers<RunRecordPorts> => {
  const log = once(() => wrapLog(new DynamoRunLog(resources.runs, messageHeads)));
  return {
    log,
    // A function that only records the swept minute has no runs table.
    index: () => new DynamoRunIndex(resources, { heads: (runs) => log().heads(runs) }, messageHeads && 'code'),
    blobs: () => new S3Blobs(resources.objects, resources.settings.bucket, resources.clock),
  };
};
