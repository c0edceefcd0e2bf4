import { useAddress } from '../../lib/address.ts';
import { EntityPage } from './entity-page.tsx';
import { FactDialog } from './fact-dialog.tsx';
import { Recently } from './recently.tsx';
import { Subject } from './subject.tsx';

export default function FactsView() {
  const address = useAddress();
  const subject = address.get('subject');
  const fact = address.get('fact');
  return (
    <EntityPage
      look="facts"
      title="Facts & graph"
      about="What is stated of a subject, when it held, what followed it, and the memories that say so."
      label="Subject"
      entity={subject}
      onShow={(name) => address.set({ subject: name, at: null, known: null, fact: null })}
    >
      {subject ? <Subject key={subject} subject={subject} /> : <Recently />}
      {fact && <FactDialog key={fact} factId={fact} onClose={() => address.set({ fact: null }, { replace: true })} />}
    </EntityPage>
  );
}
