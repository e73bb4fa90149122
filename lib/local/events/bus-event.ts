/** Events on a bus, and the envelope in which EventBridge delivers them. */
import { awsEnvironment } from '../aws-environment.ts';

export interface BusEvent {
  /** the `EventId` in the response to its sender, and the `id` of each delivered copy */
  readonly id: string;
  readonly bus: string;
  readonly source: string;
  readonly detailType: string;
  readonly detail: unknown;
  readonly resources: readonly string[];
  readonly at: Date;
}

/** EventBridge's times have no milliseconds. */
const toSeconds = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');

export const envelopeOf = ({ id, source, detailType, detail, resources, at }: BusEvent) => ({
  version: '0',
  id,
  'detail-type': detailType,
  source,
  account: awsEnvironment.account,
  time: toSeconds(at),
  region: awsEnvironment.region,
  resources,
  detail,
});
