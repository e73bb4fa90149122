/** The records of runs on AWS: the log and the index in the runs table, and large values in the bucket. */
import { type Makers, once } from '../base/lazy.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { RunRecordPorts } from '../ports/run-records.ts';
import { S3Blobs } from './blobs.ts';
import type { DynamoExternalLogs } from './external-logs.ts';
import type { Resources } from './resources.ts';
import type { MessageHeads } from './run-heads.ts';
import { DynamoRunIndex } from './run-index.ts';
import { DynamoRunLog } from './run-log.ts';
import type { Table } from './table.ts';

/** Made by the functions that read external-worker runs: the others do not bundle the code for it. */
export type MakeExternalLogs = (table: Table) => DynamoExternalLogs;

const noExternalLogs: MakeExternalLogs = () => {
  throw new TypeError('this process does not read external-worker runs');
};

/** @param choices as in `awsPorts` */
export const runRecordPorts = (
  resources: Resources,
  wrapLog: (log: RunLog) => RunLog,
  { messageHeads, makeExternalLogs }: { readonly messageHeads?: MessageHeads; readonly makeExternalLogs?: MakeExternalLogs },
): Makers<RunRecordPorts> => {
  const log = once(() => wrapLog(new DynamoRunLog(resources.runs, messageHeads)));
  return {
    log,
    // A function that only records the swept minute has no runs table.
    index: () =>
      new DynamoRunIndex(
        resources,
        { heads: (runs) => log().heads(runs) },
        messageHeads && 'code',
        makeExternalLogs?.(resources.runs),
      ),
    externalLogs: () => (makeExternalLogs ?? noExternalLogs)(resources.runs),
    blobs: () => new S3Blobs(resources.objects, resources.settings.bucket, resources.clock),
  };
};
