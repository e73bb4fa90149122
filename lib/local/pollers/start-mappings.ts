/** Starts the pollers of all event source mappings, after checking that their functions' roles allow polling. */
import type { FindFunction } from '../aws/lambda.ts';
import type { Principals } from '../aws/principals.ts';
import type { Fauxqs } from '../emulators/fauxqs.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { mappingActions, readMappings } from './mapping.ts';
import { startPoller, type Poller } from './poller.ts';
import { createQueueClient } from './queue-client.ts';

export interface MappingParts {
  readonly template: Template;
  readonly principals: Principals;
  readonly find: FindFunction;
  readonly fauxqs: Fauxqs;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
  readonly throttledVisibilityMs: number | undefined;
}

export function startMappings({
  template,
  principals,
  find,
  fauxqs,
  recorder,
  warn,
  throttledVisibilityMs,
}: MappingParts): readonly Poller[] {
  const mappings = readMappings(template, find);
  for (const { target, queueArn } of mappings) {
    const role = template.of('AWS::Lambda::Function').find(({ name }) => name === target.name)?.properties['Role'];
    const actor = { arn: target.arn, roleArn: typeof role === 'string' ? role : '' };
    const denialText = principals.findDenial(
      actor,
      mappingActions.map((action) => ({ action, resource: queueArn })),
    );
    if (denialText !== undefined) throw new TemplateError(`The function's role may not poll its queue: ${denialText}`);
  }
  const queues = createQueueClient(fauxqs.queues, recorder, 'pollers');
  return mappings.map((mapping) =>
    startPoller(mapping, queues, { endLongPolls: () => fauxqs.endLongPolls(), warn, throttledVisibilityMs }),
  );
}
