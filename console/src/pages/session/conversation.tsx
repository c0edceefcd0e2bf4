// What was stored of a session. Messages may hold anything, so all of it is shown as text.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Json } from '../../components/fields-view.tsx';

interface Message {
  role: string;
  text: string;
  calls: unknown[];
}

/** More messages than this at once would hold up the page. */
const AT_ONCE = 100;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value, null, 2);

export function messagesOf(data: unknown): Message[] {
  const messages = isObject(data) && Array.isArray(data.messages) ? data.messages : [];
  return messages.filter(isObject).map(({ role, text, tool_calls: calls }) => ({
    role: asText(role) || 'unknown',
    text: asText(text),
    calls: Array.isArray(calls) ? calls : [],
  }));
}

export function Conversation({ data }: { data: unknown }) {
  const [shown, setShown] = useState(AT_ONCE);
  const messages = messagesOf(data);
  const summary = isObject(data) ? asText(data.summary) : '';
  return (
    <>
      {summary && <p class="text session-summary">{summary}</p>}
      {messages.length === 0 ? (
        <p class="muted">Only this summary was archived. What else is kept of sessions is a setting of the tenant.</p>
      ) : (
        <ol class="messages">
          {messages.slice(0, shown).map(({ role, text, calls }, index) => (
            <li key={index} class={`message ${role === 'user' ? 'of-user' : ''}`}>
              <span class="message-role">{role}</span>
              <div>
                {text && <p class="text">{text}</p>}
                {calls.map((call, place) => (
                  <Call key={place} call={call} />
                ))}
              </div>
            </li>
          ))}
        </ol>
      )}
      {messages.length > shown && (
        <Button onClick={() => setShown(shown + AT_ONCE)}>Show more of the {messages.length} messages</Button>
      )}
    </>
  );
}

function Call({ call }: { call: unknown }) {
  const name = isObject(call) ? asText(call.name) : '';
  return (
    <details class="call">
      <summary>{name ? `Call of ${name}` : 'Call of a tool'}</summary>
      <Json
        value={isObject(call) ? Object.fromEntries(Object.entries(call).filter(([key]) => key !== 'name')) : call}
      />
    </details>
  );
}
