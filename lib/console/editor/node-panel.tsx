/** The form of the selected node: its name, the settings of its type, the settings of every node, and its config as JSON. */
import { type ReactNode, useState } from 'react';
import type { NodeDefinition } from '../../engine/graph/definition.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import { nodeTypes } from '../../nodes/node-types.ts';
import { settingsSchema } from '../../nodes/settings.ts';
import { TypeIcon } from '../graph/type-icon.tsx';
import * as commands from './commands.ts';
import { hasEffect } from './field-hints.ts';
import { type NamedField, fieldsOf } from './field-schema.ts';
import { FieldFindings, ObjectFields } from './fields/field-view.tsx';
import { findingsAt } from './findings.ts';
import { templateOf } from './node-templates.ts';
import type { Editor } from './use-editor.ts';

const settingFields = fieldsOf(settingsSchema);

/** The settings of every node, with the default of this type where types differ. */
const settingFieldsOf = (type: string): readonly NamedField[] =>
  settingFields.map((field) =>
    field.name === 'idempotent' ? { ...field, fallback: nodeTypes.get(type)?.defaults.isIdempotent === true } : field,
  );

const byType = new Map([...nodeTypes].map(([type, { schema }]) => [type, fieldsOf(schema)]));

/** A node that writes an output shows this beside its own settings. */
const outputVariable = settingFields.filter(({ name }) => name === 'outputVariable');
const isPolicy = ({ name }: NamedField): boolean => name !== 'outputVariable';

interface NodePanelProps {
  readonly editor: Editor;
  readonly node: NodeDefinition;
  readonly children?: ReactNode;
}

export function NodePanel({ editor, node, children }: NodePanelProps): ReactNode {
  const { findings, run } = editor;
  const { id, type, config } = node;
  const policies = settingFieldsOf(type);
  const own = findings.filter(({ nodeId }) => nodeId === id);
  const known = byType.get(type);
  const fields = (known ?? []).filter(({ name }) => hasEffect(type, name, config));
  const set = (next: JsonObject): void => run((each) => commands.setConfig(each, id, next), `config of ${id}`);
  const hasOutput = type !== 'start' && type !== 'end' && type !== 'condition' && type !== 'delay';
  const form = (shown: readonly NamedField[], path: readonly string[]): ReactNode => (
    <ObjectFields fields={shown} value={config} onChange={set} path={path} place={[]} findings={own} hasOthers={false} />
  );
  return (
    <>
      <div className="panel-head">
        <h2>
          <TypeIcon type={type} /> {templateOf(type).title}
        </h2>
        <button type="button" className="quiet" onClick={() => run((each) => commands.removeNodes(each, [id]))}>
          Remove
        </button>
      </div>
      <FieldFindings id={`${id}-findings`} findings={[...findingsAt(own, []), ...findingsAt(own, ['type'])]} />
      <Identity key={id} editor={editor} node={node} />
      {form(fields, [type])}
      {hasOutput ? form(outputVariable, ['settings']) : null}
      <Unknown config={config} known={[...(known ?? []), ...settingFields]} onChange={set} />
      {children}
      <details className="more-settings">
        <summary>Retries, timeout, joins</summary>
        {form(hasOutput ? policies.filter(isPolicy) : policies, ['settings'])}
      </details>
      <ConfigJson key={`${id} json`} config={config} onChange={set} />
    </>
  );
}

/** The label and the id. A new id is taken when one leaves the field, because every edge names it. */
function Identity({ editor: { run, document }, node }: NodePanelProps): ReactNode {
  const [draft, setDraft] = useState<string | undefined>();
  const isRefused = draft !== undefined && commands.renameNode(document, node.id, draft) === undefined;
  const rename = (): void => {
    if (draft === undefined || isRefused) return;
    run((each) => commands.renameNode(each, node.id, draft) ?? each);
    setDraft(undefined);
  };
  return (
    <div className="fields pairwise">
      <div className="field">
        <label htmlFor="node-label">Label</label>
        <input
          id="node-label"
          value={node.label ?? ''}
          maxLength={256}
          placeholder={node.id}
          onChange={({ currentTarget: { value } }) =>
            run((each) => commands.setLabel(each, node.id, value), `label of ${node.id}`)
          }
        />
      </div>
      <div className="field">
        <label htmlFor="node-id">Id</label>
        <input
          id="node-id"
          value={draft ?? node.id}
          spellCheck={false}
          aria-invalid={isRefused || undefined}
          aria-describedby={isRefused ? 'node-id-refused' : undefined}
          onChange={(event) => setDraft(event.currentTarget.value)}
          onBlur={rename}
          onKeyDown={({ key }) => {
            if (key === 'Enter') rename();
            if (key === 'Escape') setDraft(undefined);
          }}
        />
        {isRefused ? (
          <p className="bad small" id="node-id-refused">
            An id is unique, and has letters, digits and the signs _ . : -
          </p>
        ) : null}
      </div>
    </div>
  );
}

interface UnknownProps {
  readonly config: JsonObject;
  readonly known: readonly NamedField[];
  readonly onChange: (config: JsonObject) => void;
}

/** Keys that no schema has: they are kept, and can be removed. */
const Unknown = ({ config, known, onChange }: UnknownProps): ReactNode => {
  const names = Object.keys(config).filter((key) => !known.some(({ name }) => name === key));
  if (names.length === 0) return null;
  return (
    <p className="small">
      {names.map((name) => (
        <span key={name} className="unknown">
          <code>{name}</code> is kept.{' '}
          <button
            type="button"
            className="more"
            onClick={() => onChange(Object.fromEntries(Object.entries(config).filter(([key]) => key !== name)))}
          >
            Remove it
          </button>
        </span>
      ))}
    </p>
  );
};

const parsed = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function ConfigJson({ config, onChange }: Pick<UnknownProps, 'config' | 'onChange'>): ReactNode {
  const [draft, setDraft] = useState<string | undefined>();
  const shown = JSON.stringify(config, undefined, 2);
  return (
    <details className="more-settings">
      <summary>Config as JSON</summary>
      <textarea
        aria-label="Config as JSON"
        rows={10}
        spellCheck={false}
        value={draft ?? shown}
        aria-invalid={draft !== undefined || undefined}
        onBlur={() => setDraft(undefined)}
        onChange={({ currentTarget: { value: text } }) => {
          const value = parsed(text);
          setDraft(isJsonObject(value) && JSON.stringify(value, undefined, 2) === text ? undefined : text);
          if (isJsonObject(value)) onChange(value);
        }}
      />
    </details>
  );
}
