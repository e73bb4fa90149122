/** The options of the workflow: its arguments, deadline, concurrency and budget. It is shown while nothing is selected. */
import type { ReactNode } from 'react';
import * as commands from './commands.ts';
import type { NamedField } from './field-schema.ts';
import { FieldFindings, ObjectFields } from './fields/field-view.tsx';
import { definitionJson, readOptions } from './read-definition.ts';
import type { Editor } from './use-editor.ts';
import { isJsonObject } from '../../engine/json.ts';

const count = (minimum: number): NamedField['field'] => ({ kind: 'number', isInteger: true, minimum, maximum: undefined });
const field = (name: string, own: NamedField['field'], isRequired = false): NamedField => ({
  name,
  field: own,
  isRequired,
  fallback: undefined,
});

/** As `lib/api/schemas/workflows.ts` has them. */
const fields: readonly NamedField[] = [
  field('args', {
    kind: 'array',
    items: {
      kind: 'object',
      fields: [
        field('name', { kind: 'text', maxLength: 128 }, true),
        field('type', { kind: 'choice', options: ['string', 'number', 'boolean', 'object', 'array'] }, true),
        field('required', { kind: 'boolean' }),
        field('default', { kind: 'value' }),
      ],
    },
  }),
  field('deadlineSeconds', count(1)),
  field('maxConcurrentRuns', count(1)),
  field('budget', {
    kind: 'object',
    fields: [field('maxNodeExecutions', count(1)), field('maxTokens', count(1))],
  }),
];

export function OptionsPanel({ editor: { document, findings, run } }: { readonly editor: Editor }): ReactNode {
  const { options } = definitionJson(document.definition);
  const general = findings.filter(({ nodeId, edge }) => nodeId === undefined && edge === undefined);
  return (
    <>
      <div className="panel-head">
        <h2>Options of the workflow</h2>
      </div>
      <p className="dim small">Select a node or an edge to edit it.</p>
      <FieldFindings id="options-findings" findings={general} />
      <ObjectFields
        fields={fields}
        value={isJsonObject(options) ? options : {}}
        onChange={(next) => run((each) => commands.setOptions(each, readOptions(withoutEmpty(next))), 'options')}
        path={['options']}
        place={['options']}
        findings={[]}
      />
    </>
  );
}

/** A budget without limits is no budget. */
const withoutEmpty = (options: Parameters<typeof readOptions>[0]): typeof options =>
  Object.fromEntries(
    Object.entries(options).filter(([name, value]) => name !== 'budget' || !isJsonObject(value) || Object.keys(value).length > 0),
  );
