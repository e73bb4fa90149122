/** Limits of artifacts and manifests of deployments. */
import { formLimitBytes, manifestLimitBytes, maxSteps, maxWorkflows } from '../../lib/api/schemas/deployments.ts';
import { pageSize } from '../../lib/api/schemas/parts.ts';
import { archiveLimits } from '../../lib/artifact/archive-rules.ts';
import { maxActivationHistory } from '../../lib/ports/deployments.ts';
import { uploadUrlLifetime } from '../../lib/service/deployments/create-deployment.ts';
import { maxStartTime } from '../../lib/service/deployments/remove-deployment.ts';
import { type LimitSection, bytes, count, minutes, phrase } from './limit.ts';

export const deployments: LimitSection = {
  title: 'Deployments',
  per: 'deployment',
  limits: [
    {
      name: 'Artifact',
      value: bytes(archiveLimits.archiveBytes),
      atLimit: '`invalid_manifest` (400)',
      definedIn: ['lib/artifact/archive-rules.ts'],
    },
    {
      name: 'Artifact, unpacked',
      value: bytes(archiveLimits.unpackedBytes),
      atLimit: '`artifact_invalid` (409) with `unpacked_too_large`; Stepwell stops unpacking',
      definedIn: ['lib/artifact/archive-rules.ts'],
    },
    {
      name: 'Entries of an artifact',
      value: count(archiveLimits.entries),
      atLimit: '`artifact_invalid` (409) with `too_many_entries`; directories count too',
      definedIn: ['lib/artifact/archive-rules.ts'],
    },
    {
      name: 'Path in an artifact',
      value: bytes(archiveLimits.pathBytes),
      per: 'file',
      atLimit: '`invalid_manifest` (400), or `artifact_invalid` (409) with `path_too_long`',
      definedIn: ['lib/artifact/archive-rules.ts'],
    },
    {
      name: 'Manifest',
      value: bytes(manifestLimitBytes),
      atLimit: '`payload_too_large` (413). A manifest is one item of a table',
      definedIn: ['lib/api/schemas/deployments.ts'],
    },
    {
      name: 'Manifest and artifact in one request',
      value: bytes(formLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413). Upload a larger artifact separately',
      definedIn: ['lib/api/schemas/deployments.ts'],
    },
    {
      name: 'Workflows of a deployment',
      value: count(maxWorkflows),
      atLimit: '`invalid_manifest` (400)',
      definedIn: ['lib/api/schemas/deployments.ts'],
    },
    {
      name: 'Steps of a deployment',
      value: count(maxSteps),
      atLimit: '`invalid_manifest` (400)',
      definedIn: ['lib/api/schemas/deployments.ts'],
    },
    {
      name: 'Time of an upload',
      value: minutes(uploadUrlLifetime),
      per: 'upload',
      atLimit: 'the bucket refuses (403). Repeat the request for a new address',
      definedIn: ['lib/service/deployments/create-deployment.ts'],
    },
    {
      name: 'Changes of the active deployment',
      value: count(maxActivationHistory),
      per: 'environment',
      atLimit: 'only the audit trail has older ones. A rollback without an id ignores them',
      definedIn: ['lib/ports/deployments.ts'],
    },
    {
      name: 'A start that is under way',
      value: minutes(maxStartTime),
      per: 'removal',
      atLimit: 'a removal waits this long for a run that does not exist yet',
      definedIn: ['lib/service/deployments/remove-deployment.ts'],
    },
    {
      name: 'Page of deployments',
      value: phrase`${count(pageSize.standard)}, at most ${count(pageSize.max)}`,
      per: 'response',
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
  ],
  outro: ['The embedded cloud accepts uploads of at most 11 MiB.'],
};
