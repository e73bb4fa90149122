/** The form of the selected edge: its handle, the value that it carries, and the condition on it. */
import { type ReactNode, useId } from 'react';
import { defined } from '../../base/defined.ts';
import { type EdgeCondition, type EdgeDefinition, mergeStrategies } from '../../engine/graph/definition.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { Icon } from '../primitives/icon.tsx';
import { handlesOf } from './catalogue.ts';
import * as commands from './commands.ts';
import { nodeIn } from './document.ts';
import { FieldFindings } from './fields/field-view.tsx';
import { looseText, looseValue } from './loose-value.ts';
import type { Editor } from './use-editor.ts';

interface EdgePanelProps {
  readonly editor: Editor;
  readonly edge: EdgeDefinition;
  readonly index: number;
}

type EdgeChange = { readonly [Key in keyof EdgeDefinition]?: EdgeDefinition[Key] | undefined };

export function EdgePanel({ editor, edge, index }: EdgePanelProps): ReactNode {
  const { document, findings, run } = editor;
  const { definition } = document;
  const source = nodeIn(definition, edge.source);
  const handles = source === undefined ? [] : handlesOf(source, definition.edges);
  const set = (change: EdgeChange): void =>
    run(
      (each) => commands.editEdge(each, index, defined({ ...edge, ...change, source: edge.source, target: edge.target })),
      `edge ${index}`,
    );
  const text = (value: string): string | undefined => (value === '' ? undefined : value);
  return (
    <>
      <div className="panel-head">
        <h2>Edge</h2>
        <button type="button" className="quiet" onClick={() => run((each) => commands.removeEdge(each, index))}>
          Remove
        </button>
      </div>
      <p className="panel-facts">
        <button type="button" className="more" onClick={() => run((each) => commands.select(each, edge.source))}>
          {edge.source}
        </button>
        <Icon name="right" />
        <button type="button" className="more" onClick={() => run((each) => commands.select(each, edge.target))}>
          {edge.target}
        </button>
      </p>
      <FieldFindings id="edge-findings" findings={findings.filter((each) => each.edge === index)} />
      <div className="fields">
        <Ends editor={editor} index={index} edge={edge} />
        <Choice
          label="Taken when the source ends by"
          value={edge.sourceHandle ?? mainHandle}
          options={handles}
          onChange={(value) => set({ sourceHandle: value === mainHandle ? undefined : value })}
        />
        <Text
          label="Value"
          help="A path into the output of the source. Empty: the whole output."
          value={edge.sourceOutputKey ?? ''}
          onChange={(value) => set({ sourceOutputKey: text(value) })}
        />
        <Text
          label="Passed as"
          help="The name under inputs of the target. Empty: the edge passes no value."
          value={edge.targetParamLabel ?? ''}
          onChange={(value) => set({ targetParamLabel: text(value) })}
        />
        <Choice
          label="Several values of that name"
          value={edge.mergeStrategy ?? ''}
          options={['', ...mergeStrategies]}
          onChange={(value) => set({ mergeStrategy: mergeStrategies.find((each) => each === value) })}
        />
        <Condition condition={edge.condition} onChange={(condition) => set({ condition })} />
      </div>
    </>
  );
}

interface EndsProps {
  readonly editor: Editor;
  readonly index: number;
  readonly edge: EdgeDefinition;
}

/** What a pointer does by dragging an end. */
function Ends({ editor: { document, run }, index, edge }: EndsProps): ReactNode {
  const { nodes } = document.definition;
  /** A source without the handle leaves by its first one. */
  const move = (ends: { readonly source?: string; readonly target?: string }): void =>
    run((each) => {
      const to = { source: edge.source, target: edge.target, ...ends };
      const from = each.definition.nodes.find(({ id }) => id === to.source);
      const known = from === undefined ? [] : handlesOf(from, each.definition.edges);
      const kept = edge.sourceHandle ?? mainHandle;
      return commands.reconnect(each, index, { ...to, handle: known.includes(kept) ? kept : (known[0] ?? mainHandle) });
    });
  return (
    <>
      <Choice
        label="From"
        value={edge.source}
        options={nodes.map(({ id }) => id)}
        onChange={(value) => move({ source: value })}
      />
      <Choice
        label="To"
        value={edge.target}
        options={nodes.flatMap(({ id, type }) => (type === 'start' ? [] : [id]))}
        onChange={(value) => move({ target: value })}
      />
    </>
  );
}

const conditionTypes = ['present', 'truthy', 'equals', 'contains'] as const;

interface ConditionProps {
  readonly condition: EdgeCondition | undefined;
  readonly onChange: (condition: EdgeCondition | undefined) => void;
}

function Condition({ condition, onChange }: ConditionProps): ReactNode {
  const value = condition !== undefined && 'value' in condition ? condition.value : '';
  const change = (chosen: string): void => {
    const type = conditionTypes.find((each) => each === chosen);
    if (type === undefined) onChange(undefined);
    else onChange(type === 'equals' || type === 'contains' ? { type, value } : { type });
  };
  return (
    <>
      <Choice label="Only if the value is" value={condition?.type ?? ''} options={['', ...conditionTypes]} onChange={change} />
      {condition !== undefined && 'value' in condition ? (
        <Text
          label="Compared with"
          help="Text or JSON"
          value={looseText(condition.value)}
          onChange={(typed) => onChange({ type: condition.type, value: looseValue(typed) ?? typed })}
        />
      ) : null}
    </>
  );
}

interface ControlProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ControlProps & { readonly options: readonly string[] }): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option === '' ? '–' : option}
          </option>
        ))}
      </select>
    </div>
  );
}

function Text({ label, help, value, onChange }: ControlProps & { readonly help: string }): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        aria-describedby={`${id}-help`}
        spellCheck={false}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <p className="help" id={`${id}-help`}>
        {help}
      </p>
    </div>
  );
}
