/** The records of runs on AWS: the log and the index in the runs table, and large values in the bucket. */
import { type Makers, once } from '../base/lazy.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { RunRecordPorts } from '../ports/run-records.ts';
import type { Uploads } from '../ports/uploads.ts';
import { S3Blobs } from './blobs.ts';
import type { DynamoExternalLogs } from './external-logs.ts';
import type { Resources } from './resources.ts';
import type { MessageHeads } from './run-heads.ts';
import { DynamoRunIndex } from './run-index.ts';
import { DynamoRunLog } from './run-log.ts';
import type { Table } from './table.ts';

/** Made by the functions that read external-worker runs: the others do not bundle the code for it. */
type MakeExternalLogs = (table: Table) => DynamoExternalLogs;

/** Made by the functions that serve the World: the others do not bundle the code that presigns URLs. */
export type MakeUploads = (resources: Resources) => Uploads;

const noUploads: MakeUploads = () => {
  throw new TypeError('this process presigns no URLs of values');
};

const noExternalLogs: MakeExternalLogs = () => {
  throw new TypeError('this process does not read external-worker runs');
};

export interface RunRecordChoices {
  /** only in the code function, which knows runs from messages; other functions read heads */
  readonly messageHeads?: MessageHeads;
  /** only in the functions that read external-worker runs */
  readonly makeExternalLogs?: MakeExternalLogs;
  /** only in the functions that serve the World */
  readonly makeUploads?: MakeUploads;
}

/** @param choices as in `awsPorts` */
export const runRecordPorts = (
  resources: Resources,
  wrapLog: (log: RunLog) => RunLog,
  { messageHeads, makeExternalLogs, makeUploads = noUploads }: RunRecordChoices,
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
    uploads: () => makeUploads(resources),
  };
};
