/** Wires the functions that serve the World. Apart from the other wiring, so that no other function bundles what presigns URLs. */
import type { MakeUploads } from '../lib/aws/run-records.ts';
import { S3Uploads } from '../lib/aws/uploads.ts';

export const makeUploads: MakeUploads = ({ objects, settings, clock }) => new S3Uploads(objects, settings.bucket, clock);
