-- The words that change what a text says, by language: compare_used_words() looks up the words that differ between two texts
-- here. A row has a language, a class, and meanings with their words: to extend it, add words, meanings or a row. A * at the end
-- stands for any ending. Words after a | mean something else in another language (the German "sei", the Italian 6): they count
-- only in a text of their own language, which is known by its marker words. Words of Chinese, Japanese and Korean have up to
-- three characters.
create table duplicates.telling_words (
  word text not null,
  language text not null,
  class text not null,
  means text not null,
  is_shared boolean not null,
  primary key (word, language, class, means),
  constraint telling_word_class_known check (class in (
    'negation', 'number', 'date', 'time', 'unit', 'instead', 'prefix', 'prefixes', 'suffix', 'suffixes', 'marker'))
);
call identity.describe('duplicates.telling_words', 'Words that change what a text says: two texts that differ in one of them are
    no near-duplicates.
  word: The word in lower case; a * at the end stands for any ending.
  language: The language, as a code of two letters; mul for several.
  class: negation, number, date (weekdays and months), time, unit; instead: words of which one replaces the other; prefix, suffix:
    what makes the opposite of the rest of a word; prefixes, suffixes: of which one replaces the other; marker: frequent words by
    which a language is known.
  means: Words of the same meaning are the same word. Of instead, prefixes and suffixes: group and side, as in on/1 and on/2.
  is_shared: True if the word means something else in another language.');

alter table duplicates.telling_words enable row level security, force row level security;
create policy scope_access on duplicates.telling_words for select to l9_agent, l9_admin, l9_owner using (true);
create policy definer_functions on duplicates.telling_words for insert to l9_owner with check (true);
comment on policy scope_access on duplicates.telling_words is 'Every caller may read them: they are the same in all databases.';
comment on policy definer_functions on duplicates.telling_words is 'Only migrations add words.';
grant select on duplicates.telling_words to l9_agent, l9_admin;

insert into duplicates.telling_words (language, class, means, word, is_shared)
select v.language, v.class, split_part(m.entry, ': ', 1), w.word, half.place = 2
from (values
  -- Frequent words, by which a text of the language is known.
  ('en', 'marker', 'en: the of and is are was were be been for with from this that it its by as every each must may has have will
    | to in on at an a or'),
  ('de', 'marker', 'de: der die das dem den des und ist sind wird werden auf für bei zum zur vom beim eine einen einer eines nach
    durch über | ein im in am an so zu'),
  ('fr', 'marker', 'fr: les est sont dans pour une aux cette qui que avec chez sur ne | le la du des un et de en au'),
  ('es', 'marker', 'es: el los las una está están para por y queda tiene cada que | la un de en se del al es'),
  ('it', 'marker', 'it: il gli della del nel nella sono è dopo una ogni che dal sul lo | la un di si ha in a i'),
  ('pt', 'marker', 'pt: os uma está são da do na no para ao à não cada depois | o a de em um se'),
  ('nl', 'marker', 'nl: het een van zijn wordt worden aan bij naar voor elke dat ook | de en op in is er te'),
  ('pl', 'marker', 'pl: jest są w na dla po przy każdym oraz się od ma | z do i o to'),
  ('cs', 'marker', 'cs: je jsou ve na pro každém se po při ze má který | v s k o a z'),
  ('ru', 'marker', 'ru: и в на для из по с от к это как после каждом или'),
  ('uk', 'marker', 'uk: і й у з та для після до від це як кожному або на'),
  ('tr', 'marker', 'tr: ve bir bu için her sonra olarak daha çok gece günü | de da'),
  ('sv', 'marker', 'sv: och är det för varje efter till den från av vid ett på som | i en den om'),
  ('da', 'marker', 'da: og er det efter til fra ved hver af på som igen | i en den om for et'),
  ('no', 'marker', 'no: og er det etter til fra ved hver av på som igjen ikke | i en den om for et'),
  ('fi', 'marker', 'fi: ja on että joka jälkeen varten tai myös ovat kun | se'),
  ('hu', 'marker', 'hu: az és egy van vagy hogy minden után | a'),
  ('ro', 'marker', 'ro: și este sunt pentru din care după fiecare | la cu de pe'),
  ('id', 'marker', 'id: yang dan di untuk dari pada setiap dengan ini'),
  ('lt', 'marker', 'lt: ir yra į iš kad su po kiekvieną'),
  ('et', 'marker', 'et: ja on et ning pärast iga'),
  ('el', 'marker', 'el: το η ο και είναι για από με στο στη'),
  -- Negations.
  ('en', 'negation', 'not: not never none nor neither without cannot nobody nothing nowhere unless except lacks lacking fails
    failed refuses forbidden prohibited prohibits | no non t'),
  ('de', 'negation', 'not: nicht nie niemals kein keine keinem keinen keiner keines ohne niemand nichts weder nirgends verboten
    untersagt außer keinesfalls'),
  ('fr', 'negation', 'not: pas jamais aucun aucune sans rien personne guère interdit* sauf ni | non'),
  ('es', 'negation', 'not: nunca jamás ningún ninguna ninguno nadie nada tampoco prohibid* salvo excepto | no sin ni'),
  ('it', 'negation', 'not: non senza nessun nessuno nessuna niente nulla neppure neanche vietat* tranne | mai né'),
  ('pt', 'negation', 'not: não nunca jamais nenhum nenhuma ninguém nada nem proibid* exceto | sem'),
  ('ca', 'negation', 'not: mai cap ningú sense gens res | no'),
  ('nl', 'negation', 'not: niet nooit geen zonder niemand niets nergens verboden behalve'),
  ('pl', 'negation', 'not: nie nigdy bez żaden żadna żadne żadnego żadnej nikt ani zabronion* oprócz | nic'),
  ('cs', 'negation', 'not: nikdy není nejsou bez žádný žádná žádné žádného nikdo ani zakázán* kromě | ne nic'),
  ('ru', 'negation', 'not: не нет ни никогда без нельзя никто ничего ничто никакой запрещ* кроме'),
  ('uk', 'negation', 'not: не ні ніколи без немає нема жоден жодного ніхто нічого заборон* крім'),
  ('sr', 'negation', 'not: није нису никад никада нема без nije nisu nikada nema | не'),
  ('tr', 'negation', 'not: değil değildir asla hiç hiçbir yok yoktur olmadan yasak* hariç'),
  ('sv', 'negation', 'not: inte ej aldrig ingen inget inga utan ingenting förbjud*'),
  ('da', 'negation', 'not: ikke aldrig ingen intet uden ingenting forbudt'),
  ('no', 'negation', 'not: ikke aldri ingen uten ingenting forbudt'),
  ('fi', 'negation', 'not: ei eivät emme ette älä älkää ilman koskaan mikään kukaan eikä | en et'),
  ('hu', 'negation', 'not: nem nincs nincsenek soha sem nélkül senki semmi tilos | ne se'),
  ('ro', 'negation', 'not: nu niciodată fără nici nimeni nimic niciun nicio'),
  ('et', 'negation', 'not: mitte ära ilma kunagi | ei'),
  ('lt', 'negation', 'not: nėra niekada niekas joks jokios | be ne'),
  ('eu', 'negation', 'not: ez inoiz gabe ezer'),
  ('ga', 'negation', 'not: níl ní nach cha riamh | gan'),
  ('id', 'negation', 'not: tidak bukan jangan belum tanpa tak'),
  ('vi', 'negation', 'not: không chưa chẳng đừng'),
  ('el', 'negation', 'not: δεν δε μη μην όχι ποτέ χωρίς κανένας κανείς τίποτα'),
  ('hy', 'negation', 'not: չէ չի չեն ոչ երբեք առանց'),
  ('yi', 'negation', 'not: נישט ניט קיין קיינמאל'),
  ('ta', 'negation', 'not: இல்லை அல்ல வேண்டாம் கூடாது இல்லாமல்'),
  ('ne', 'negation', 'not: छैन होइन नगर्नुहोस् कहिल्यै बिना'),
  ('ar', 'negation', 'not: لا لم لن ليس ليست لست غير بدون دون أبدا مطلقا ممنوع سوى بلا | ما'),
  ('he', 'negation', 'not: לא אין בלי ללא אינו אינה אינם אל אסור מלבד'),
  ('fa', 'negation', 'not: نه نیست نیستند نباید هرگز بدون هیچ ممنوع'),
  ('hi', 'negation', 'not: नहीं नही मत बिना वर्जित सिवाय | न ना'),
  ('zh', 'negation', 'not: 不 没 沒 無 无 非 未 否 别 別 勿 莫 禁 拒'),
  ('ja', 'negation', 'not: ない ません なかっ ずに ぬ なくて なければ ないで'),
  ('ko', 'negation', 'not: 않 없 못 아니 비활성 마십시 말것'),
  -- Numbers. Articles are left out: where "ein" becomes "zwei", the latter tells.
  ('mul', 'number', '0: zero null* zéro cero nula нуль ноль صفر אפס शून्य 零 〇 영 noll | nul'),
  ('en', 'number', '1: single | one; 2: two twice pair double | both; 3: three thrice triple; 4: four; 5: five; 6: six; 7: seven;
    8: eight; 9: nine; 10: | ten; 11: eleven; 12: twelve dozen; 13: thirteen; 14: fourteen; 15: fifteen; 16: sixteen;
    17: seventeen; 18: eighteen; 19: nineteen; 20: twenty; 30: thirty; 40: forty; 50: fifty; 60: sixty; 70: seventy; 80: eighty;
    90: ninety; 100: hundred hundreds; 1000: thousand thousands; 1000000: million millions; 1000000000: billion billions;
    1/2: half; 1/4: quarter; 1st: first primary; 2nd: secondary; 3rd: third; 4th: fourth; 5th: fifth; 6th: sixth; 7th: seventh;
    8th: eighth; 9th: ninth; 10th: tenth'),
  ('de', 'number', '2: zwei zwo zweimal doppelt*; 1: eins einmal; 3: drei dreimal; 4: vier viermal; 5: fünf fünfmal;
    6: sechs sechsmal; 7: sieben; 8: acht; 9: neun; 10: zehn; 11: | elf; 12: zwölf dutzend; 20: zwanzig; 30: dreißig dreissig;
    40: vierzig; 50: fünfzig; 60: sechzig; 70: siebzig; 80: achtzig; 90: neunzig; 100: hundert; 1000: tausend; 1000000: millionen;
    1/2: halb*; 1st: erste ersten erster erstes; 2nd: zweite zweiten zweiter zweites; 3rd: dritte dritten dritter drittes;
    4th: vierte*; 5th: fünfte*'),
  ('de', 'instead', 'first/1: erste ersten erster erstes; first/2: letzte letzten letzter letztes'),
  ('fr', 'number', '2: deux; 3: trois; 4: quatre; 5: cinq; 6: six; 7: | sept; 8: huit; 9: neuf; 10: dix; 11: onze; 12: douze;
    20: vingt*; 30: trente; 40: quarante; 50: cinquante; 60: soixante; 100: cents | cent; 1000: mille | mil;
    1st: premier première; 2nd: deuxième second seconde; 3rd: troisième'),
  ('es', 'number', '1: uno; 2: | dos; 3: tres; 4: cuatro; 5: cinco; 6: seis; 7: siete; 8: ocho; 9: nueve; 10: diez; 12: doce;
    20: veinte; 30: treinta; 40: cuarenta; 50: cincuenta; 100: cien ciento cientos; 1000: miles | mil;
    1st: primer primera primero; 2nd: segundo segunda; 3rd: tercer*'),
  ('it', 'number', '2: | due; 3: | tre; 4: quattro; 5: cinque; 6: | sei; 7: sette; 8: otto; 9: | nove; 10: dieci; 20: venti;
    30: trenta; 100: cento; 1000: mille mila; 1st: primo; 2nd: secondo seconda; 3rd: terzo terza'),
  ('pt', 'number', '2: dois duas; 3: três; 4: quatro; 5: cinco; 6: seis; 7: | sete; 8: oito; 9: | nove; 10: dez; 20: vinte;
    30: trinta; 100: cem; 1st: primeir*; 3rd: terceir*'),
  ('nl', 'number', '1: één; 2: twee; 3: drie; 4: | vier; 5: vijf; 6: zes; 7: zeven; 8: | acht; 9: negen; 10: tien; 12: twaalf;
    20: twintig; 30: dertig; 100: honderd; 1000: duizend; 1st: | eerste; 2nd: tweede; 3rd: derde'),
  ('pl', 'number', '1: jeden jedna jedno; 2: dwa dwie dwóch; 3: trzy trzech; 4: cztery czterech; 5: pięć pięciu; 6: sześć sześciu;
    7: siedem siedmiu; 8: osiem ośmiu; 9: dziewięć; 10: dziesięć dziesięciu; 20: dwadzieścia; 30: trzydzieści; 100: sto;
    1000: tysiąc tysięcy tysiące; 1st: pierwsz*; 3rd: trzeci*'),
  ('cs', 'number', '1: jeden jedna jedno; 2: dva dvě dvou; 3: tři tří; 4: čtyři čtyř; 5: pět pěti; 6: šest šesti; 7: sedm sedmi;
    8: osm osmi; 9: devět devíti; 10: deset deseti; 20: dvacet; 30: třicet; 100: sto; 1000: tisíc tisíce; 1st: první; 2nd: druh*;
    3rd: třetí'),
  ('ru', 'number', '1: один одна одно одной одного; 2: два две двух двумя; 3: три трех трёх; 4: четыре четырех четырёх;
    5: пять пяти; 6: шесть шести; 7: семь семи; 8: восемь восьми; 9: девять девяти; 10: десять десяти; 20: двадцать; 30: тридцать;
    100: сто; 1000: тысяч*; 1000000: миллион*; 1st: перв*; 2nd: второй вторая второе второго второму; 3rd: трети* треть*'),
  ('uk', 'number', '1: одна одне одного; 2: дві двох | два; 3: трьох | три; 4: чотири чотирьох; 5: пятьох пять пятн*;
    6: шість шести; 7: сім семи; 8: вісім восьми; 9: девять; 10: десять; 20: двадцять; 100: сто; 1000: тисяч*'),
  ('tr', 'number', '2: iki; 3: üç; 4: dört; 5: beş; 6: altı; 7: yedi; 8: sekiz; 9: dokuz; 10: | on; 20: yirmi; 30: otuz; 100: yüz;
    1000: | bin; 1st: birinci ilk; 2nd: ikinci; 3rd: üçüncü'),
  ('ar', 'number', '1: واحد واحدة; 2: اثنان اثنين اثنتان اثنتين; 3: ثلاث ثلاثة; 4: أربع أربعة; 5: خمس خمسة; 6: ست ستة;
    7: سبع سبعة; 8: ثماني ثمانية ثمان; 9: تسع تسعة; 10: عشر عشرة; 20: عشرون عشرين; 30: ثلاثون ثلاثين; 100: مئة مائة;
    1000: ألف آلاف; 1st: الأول الأولى; 2nd: الثاني الثانية'),
  ('he', 'number', '1: אחד אחת; 2: שניים שתיים שני שתי; 3: שלוש שלושה; 4: ארבע ארבעה; 5: חמש חמישה; 6: שש שישה; 7: שבע שבעה;
    8: שמונה; 9: תשע תשעה; 10: עשר עשרה; 100: מאה; 1000: אלף אלפים; 1st: ראשון ראשונה הראשון הראשונה'),
  ('fa', 'number', '1: | یک; 2: دو; 3: سه; 4: چهار; 5: پنج; 6: شش; 7: هفت; 8: هشت; 10: ده; 100: صد; 1000: هزار; 1st: اول نخست;
    2nd: دوم'),
  ('hi', 'number', '1: | एक; 2: दो; 3: तीन; 4: चार; 5: पाँच पांच; 6: छह छः; 7: सात; 8: आठ; 9: नौ; 10: दस; 20: बीस; 100: सौ;
    1000: हज़ार हजार; 1st: पहला पहली पहले; 2nd: दूसरा दूसरी दूसरे'),
  ('zh', 'number', '1: 一 壱 壹; 2: 二 两 兩 弐; 3: 三; 4: 四; 5: 五; 6: 六; 7: 七; 8: 八; 9: 九; 10: 十; 100: 百; 1000: 千; 10000: 万 萬;
    100000000: 亿 億; 1/2: 半'),
  ('ko', 'number', '1: 하나; 2: 둘 두개; 3: 셋 세개; 4: 넷 네개; 5: 다섯; 6: 여섯; 7: 일곱; 8: 여덟; 9: 아홉; 10: 열개; 1st: 첫번째 첫째; 2nd: 두번째 둘째'),
  ('sv', 'number', '2: två; 3: | tre; 4: fyra; 5: | fem; 6: | sex; 7: sju; 8: åtta; 9: nio; 10: tio; 20: tjugo; 30: trettio;
    100: hundra; 1000: tusen; 1st: första; 2nd: andra; 3rd: tredje'),
  ('da', 'number', '2: | to; 3: | tre; 4: | fire; 5: | fem; 6: seks; 7: syv; 8: otte; 9: | ni; 10: | ti; 20: tyve; 30: tredive;
    100: hundrede; 1000: tusind; 1st: første; 2nd: | anden; 3rd: tredje'),
  ('no', 'number', '2: | to; 3: | tre; 4: | fire; 5: | fem; 6: seks; 7: syv sju; 8: åtte; 9: | ni; 10: | ti; 20: tjue'),
  ('fi', 'number', '1: yksi yhden; 2: kaksi kahden; 3: kolme kolmen; 4: neljä neljän; 5: viisi viiden; 6: | kuusi kuuden;
    7: seitsemän; 8: kahdeksan; 9: yhdeksän; 10: kymmenen; 100: sata; 1000: tuhat tuhatta; 1st: ensimmäi*; 2nd: toinen toisen'),
  ('hu', 'number', '2: kettő két; 3: három; 4: négy; 5: öt; 6: | hat; 7: hét; 10: tíz'),
  ('ro', 'number', '2: doi două; 3: trei; 4: patru; 5: cinci; 6: șase; 7: șapte; 10: zece'),
  ('el', 'number', '2: δύο; 3: τρία τρεις; 4: τέσσερα τέσσερις; 5: πέντε; 6: έξι'),
  ('id', 'number', '2: dua; 3: tiga; 4: empat; 5: lima; 6: enam'),
  ('vi', 'number', '2: hai; 5: năm; 6: sáu'),
  -- Weekdays.
  ('mul', 'date', 'monday: monday mondays montag montags lundi lunes lunedì maandag poniedział* ponděl* понедельник* понеділ*
    pazartesi måndag* mandag* maanantai* hétfő* luni δευτέρα الاثنين الإثنين دوشنبه सोमवार senin 周一 星期一 月曜 월요; tuesday: tuesday
    tuesdays dienstag dienstags mardi martes martedì dinsdag wtorek wtorku wtorki úter* вторник* вівтор* tisdag* tirsdag* tiistai*
    kedd* marți τρίτη الثلاثاء سهشنبه मंगलवार selasa 火曜 화요 | terça salı; wednesday: wednesday wednesdays mittwoch mittwochs
    mercredi miércoles mercoledì quarta woensdag środ* středa středu сред* серед* çarşamba onsdag* keskiviikko* szerda τετάρτη
    الأربعاء چهارشنبه बुधवार rabu 水曜 수요; thursday: thursday thursdays donnerstag donnerstags jeudi jueves giovedì quinta donderdag
    czwart* čtvrt* четверг* четвер* perşembe torsdag* torstai* csütörtök joi πέμπτη الخميس پنجشنبه गुरुवार बृहस्पतिवार kamis 木曜
    목요; friday: friday fridays freitag freitags vendredi viernes venerdì sexta vrijdag piąt* pátek pátku пятниц* пятниц* fredag*
    perjantai* péntek vineri παρασκευή الجمعة جمعه शुक्रवार jumat 金曜 금요 | cuma; saturday: saturday saturdays samstag samstags
    sonnabend samedi sábado sabato zaterdag sobot* суббот* субот* cumartesi lördag* lørdag* lauantai* szombat sâmbătă σάββατο
    السبت شنبه शनिवार sabtu 土曜 토요; sunday: sunday sundays sonntag sonntags dimanche domingo domenica zondag niedziel* neděl*
    воскресень* неділ* pazar söndag* søndag* sunnuntai* vasárnap duminică κυριακή الأحد یکشنبه रविवार minggu 日曜 일요'),
  ('he', 'date', 'tuesday: שלישי; wednesday: רביעי; thursday: חמישי; friday: שישי; saturday: שבת'),
  ('pt', 'date', 'monday: segunda'),
  ('mul', 'time', 'weekend: weekend weekends wochenende'),
  ('en', 'time', 'workday: weekday weekdays workday workdays'),
  -- Months. "may" and "march" are names where they are capitalised, which the comparison sees itself.
  ('mul', 'date', 'january: january januar janvier enero gennaio janeiro januari styczeń stycznia leden lednu ledna январ* січ*
    ocak tammikuu* januarie يناير ינואר ژانویه जनवरी; february: february februar février febrero febbraio fevereiro februari luty
    lutego únor* феврал* лют* şubat helmikuu* فبراير פברואר فوریه फरवरी; march: märz marzo março maart marzec marca březen března
    březnu март* берез* maaliskuu* مارس מרץ मार्च | mars mart marts; april: april avril abril aprile kwiecień kwietnia duben dubna
    апрел* квіт* nisan huhtikuu* أبريل ابريل אפריל آوریل अप्रैल; may: mayo maggio květen května toukokuu* травн* مايو מאי | mai
    maio mei maja maj май мая mayıs; june: june juni juin junio giugno junho czerwiec czerwca červen června червн* haziran
    kesäkuu* يونيو יוני ژوئن | июн* июня; july: july juli juillet julio luglio julho lipiec lipca červenec července липн* temmuz
    heinäkuu* июл* يوليو יולי ژوئیه; august: august août agosto augustus sierpień sierpnia srpen srpna август* серпн* ağustos
    elokuu* augusti أغسطس אוגוסט अगस्त; september: september septembre septiembre settembre setembro wrzesień września září
    сентябр* верес* eylül syyskuu* سبتمبر ספטמבר सितंबर; october: october oktober octobre octubre ottobre outubro październik*
    říjen října октябр* жовт* ekim lokakuu* أكتوبر אוקטובר अक्टूबर; november: november novembre noviembre novembro listopad*
    ноябр* kasım marraskuu* نوفمبر נובמבר नवंबर; december: december dezember décembre diciembre dicembre dezembro grudzień grudnia
    prosinec prosince декабр* груд* aralık joulukuu* ديسمبر דצמבר दिसंबर'),
  ('mul', 'time', 'spring: frühling frühjahr printemps primavera; summer: summer sommer été verano estate verão zomer;
    autumn: autumn herbst automne otoño autunno outono herfst; winter: winter hiver invierno inverno'),
  -- Times.
  ('en', 'time', 'night: night nights nightly; day: day days daily; hour: hour hours hourly; week: week weeks weekly;
    fortnight: fortnight fortnightly biweekly; month: month months monthly; year: year years yearly annual annually;
    quarterly: quarterly quarters; minute: minute minutes; today: today; tomorrow: tomorrow; yesterday: yesterday;
    morning: morning mornings; noon: noon midday; afternoon: afternoon afternoons; evening: evening evenings;
    midnight: midnight'),
  ('de', 'time', 'night: nacht nachts nächte nächtlich* nächten; day: tag tage tagen tages täglich*;
    hour: stunde stunden stündlich*; week: woche wochen wöchentlich*; month: monat monate monaten monats monatlich*;
    year: jahr jahre jahren jahres jährlich*; minute: minuten; today: heute; tomorrow: | morgen; yesterday: gestern;
    morning: morgens vormittag* frühmorgens; noon: mittag mittags; evening: abend abends; midnight: mitternacht'),
  ('fr', 'time', 'night: nuit nuits; day: jour jours quotidien*; hour: heure heures; week: semaine semaines hebdomadaire*;
    month: mois mensuel*; year: année années annuel* | an ans; today: hui; tomorrow: demain; yesterday: hier; morning: matin;
    evening: soir'),
  ('es', 'time', 'night: noche noches; day: día días diario* diari*; hour: hora horas; week: semana semanas semanal*;
    month: mes meses mensual*; year: año años anual*; today: hoy; tomorrow: mañana; yesterday: ayer; minute: minutos minuto'),
  ('it', 'time', 'night: notte notti; day: giorno giorni giornalier*; hour: ore | ora; week: settimana settimane settimanal*;
    month: mese mesi mensil*; today: oggi; tomorrow: domani; yesterday: ieri; minute: minuti'),
  ('pt', 'time', 'night: noite noites; day: diário* diári* | dia dias; month: mês meses; today: hoje; tomorrow: amanhã;
    yesterday: ontem'),
  ('nl', 'time', 'night: nachten | nacht; day: dagen dagelijks* | dag; hour: uur uren; week: weken wekelijks*;
    month: maand maanden maandelijks*; today: vandaag; yesterday: gisteren; minute: minuut minuten'),
  ('pl', 'time', 'night: nocy nocą | noc; day: dzień dni dziennie codzien*; hour: godzin*; week: tydzień tygodni* cotygodniow*;
    month: miesiąc* miesię*; today: dziś dzisiaj; tomorrow: jutro; yesterday: wczoraj; minute: minut minuty'),
  ('cs', 'time', 'night: noci | noc; day: denně dny dní | den; hour: hodin*; week: týden* týdn*; month: měsíc*; today: dnes;
    tomorrow: zítra; yesterday: včera; minute: minut'),
  ('ru', 'time', 'night: ночь ночью ночи; day: день дня дней ежедневн*; hour: час часа часов ежечасн*; week: недел* еженедельн*;
    month: месяц* ежемесячн*; today: сегодня; tomorrow: завтра; yesterday: вчера; minute: минут*; morning: утром утра;
    evening: вечером вечера'),
  ('uk', 'time', 'night: ніч вночі ночі; day: днів щодня; hour: годин*; week: тиж* щотижн*; month: місяц* щомісяч*;
    today: сьогодні; yesterday: вчора; minute: хвилин*'),
  ('tr', 'time', 'night: gece geceleri; hour: saat saatlik; week: hafta haftalık; today: bugün; tomorrow: yarın; yesterday: dün;
    minute: dakika; second: saniye'),
  ('ar', 'time', 'hour: ساعة ساعات; minute: دقيقة دقائق; second: ثانية ثوان ثواني; week: أسبوع أسابيع; month: شهر أشهر;
    today: اليوم; tomorrow: غدا; yesterday: أمس; night: ليلا الليل; morning: صباحا الصباح; evening: مساء المساء'),
  ('he', 'time', 'hour: שעה שעות; minute: דקה דקות; second: שנייה שניות; week: שבוע שבועות; month: חודש חודשים; today: היום;
    tomorrow: מחר; yesterday: אתמול; night: בלילה לילה הלילה; morning: בבוקר; evening: בערב'),
  ('fa', 'time', 'hour: ساعت; minute: دقیقه; second: ثانیه; week: هفته; month: ماه; today: امروز; tomorrow: فردا;
    yesterday: دیروز; night: شبها شب'),
  ('hi', 'time', 'hour: घंटा घंटे; minute: मिनट; second: सेकंड; week: सप्ताह हफ्ता हफ्ते; month: महीना महीने; today: आज;
    night: रात; day: दिन; morning: सुबह; evening: शाम'),
  ('zh', 'time', 'second: 秒 초; minute: 分; hour: 时 時 시; day: 日 天; week: 周 週 星期 주일; month: 月 월; year: 年 년; today: 今天 今日 오늘;
    tomorrow: 明天 明日 내일; yesterday: 昨天 昨日 어제; morning: 早 朝 아침; noon: 午; night: 夜 晚 밤에; evening: 夕 저녁'),
  ('sv', 'time', 'night: natten nätter | natt; day: dagar dagligen | dag; hour: timme timmar; week: vecka veckor;
    minute: minut minuter; second: sekund sekunder; today: idag; tomorrow: imorgon; yesterday: igår'),
  ('da', 'time', 'night: nat natten; day: dage dagligt | dag; hour: timer; week: uge uger; minute: minutter; second: sekunder'),
  ('fi', 'time', 'night: yö yöllä; day: päivä* päivittäin; hour: tunti tuntia; week: viikko viikkoa; minute: minuutti* minuuttia;
    second: sekunti* sekuntia; today: tänään; tomorrow: huomenna; yesterday: eilen'),
  -- Units, with their symbols. Symbols whose case tells are compared as they are written, too.
  ('mul', 'time', 'second: seconds sec secs secondes sekunde sekunden segundos secondi seconden sekund sekundy секунд* | second s;
    millisecond: ms millisecond milliseconds millisekunden; microsecond: µs μs microseconds; nanosecond: ns nanoseconds'),
  ('mul', 'unit', 'byte: byte bytes octets; bit: bits | bit; kB: kb kilobyte kilobytes; MB: mb megabyte megabytes;
    GB: gb gigabyte gigabytes; TB: tb terabyte terabytes; PB: pb petabyte petabytes; KiB: kib; MiB: mib; GiB: gib; TiB: tib;
    Mbit: mbit mbps; Gbit: gbit gbps; kbit: kbit kbps; percent: % percent prozent pourcent procent процент* パーセ; permille: ‰;
    degree: ° degree degrees; celsius: celsius °c ℃; fahrenheit: fahrenheit °f; meter: meter meters metre metres metern mètres
    metros; km: km kilometer kilometers kilometres; cm: cm; mm: mm; mile: mile miles; foot: feet; inch: inch inches;
    kg: kg kilogram kilograms; gram: gram grams gramm; mg: mg; ton: tonne tonnes; pound: lb lbs; liter: liter liters litre litres;
    ml: ml; hz: hz; khz: khz; mhz: mhz; ghz: ghz; watt: watt watts; kw: kw kilowatt*; kwh: kwh; mwh: mwh; volt: volt volts;
    ampere: ampere amperes; mah: mah; px: px pixel pixels; rem: rem; core: vcpu vcpus; rpm: rpm; qps: qps rps;
    dollar: $ usd dollar dollars; euro: € eur euro euros; gbp: £ gbp; yen: ¥ jpy yen 円 元; won: 원; rupee: ₹ inr rupees; franc: chf;
    cent: cents; rouble: рубл*'),
  -- Words of which one replaces the other.
  ('en', 'instead', 'on/1: enabled enable enables enabling activated activate on; on/2: disabled disable disables disabling
    deactivated deactivate off; time/1: before until; time/2: after; time/3: during while; allow/1: allow allows allowed allowing
    permit permits permitted accept accepts accepted grant grants granted allowlist whitelist; allow/2: deny denies denied denying
    forbid forbids forbidden reject rejects rejected block blocks blocked blocking refuse refused revoke revokes revoked denylist
    blacklist; often/1: always; often/2: never; often/3: sometimes occasionally; often/4: rarely seldom;
    often/5: often frequently; bound/1: min minimum minimal least lowest smallest fewest; bound/2: max maximum maximal most
    highest largest biggest; more/1: more higher greater larger bigger above over exceeds longer faster upper newer later increase
    increases increased increasing raise raises raised grow grows grew up; more/2: less fewer lower smaller below under shorter
    slower older earlier decrease decreases decreased decreasing reduce reduces reduced lowers lowered shrink shrinks down;
    true/1: true yes pass passes passed passing succeeds succeeded success valid right correct; true/2: false no fail fails failed
    failing failure broken wrong; open/1: open opens opened; open/2: close closes closed shut; start/1: start starts started
    starting begin begins began; start/2: stop stops stopped stopping end ends ended finish finishes finished; add/1: add adds
    added insert inserts inserted create creates created install installs installed; add/2: remove removes removed delete deletes
    deleted drop drops dropped uninstall; with/1: with; with/2: without; to/1: to into; to/2: from out; all/1: all every each;
    all/2: none no; all/3: some; write/1: write writes writing written push pushes send sends upload uploads encode encodes
    encrypt encrypts; write/2: read reads reading pull pulls receive receives download downloads decode decodes decrypt decrypts;
    public/1: public; public/2: private internal secret; left/1: left; left/2: right; first/1: first; first/2: last;
    env/1: production prod; env/2: staging; env/3: development dev; env/4: test testing; sync/1: sync synchronous synchronously;
    sync/2: async asynchronous asynchronously; and/1: and both; and/2: or either; must/1: must required mandatory;
    must/2: optional optionally may; lock/1: lock locks locked; lock/2: unlock unlocks unlocked; log/1: login; log/2: logout;
    best/1: best better good fast hot high strong full ascending asc horizontal horizontally parallel; best/2: worst worse bad
    slow cold low weak empty descending desc vertical vertically serial; color/1: red; color/2: green; color/3: blue;
    color/4: yellow; color/5: black; color/6: white; place/1: north northern; place/2: south southern; place/3: east eastern;
    place/4: west western; side/1: client; side/2: server; io/1: input; io/2: output'),
  ('mul', 'instead', 'zone/1: utc gmt; zone/2: cet; zone/3: cest; zone/4: est; zone/5: edt; zone/6: pst; zone/7: pdt; zone/8: bst;
    zone/9: ist; day/1: | am; day/2: pm; than/1: < <= ≤; than/2: > >= ≥; than/3: = ==; than/4: != ≠; mark/1: ✅ ✓ ✔ 👍;
    mark/2: ❌ ✗ ✘ 👎 ⛔ 🚫'),
  ('de', 'instead', 'on/1: aktiviert* aktiv eingeschaltet* freigegeben angeschaltet* an ein; on/2: deaktiviert* inaktiv
    ausgeschaltet* gesperrt* abgeschaltet* aus; time/1: vor vorher bevor bis; time/2: nach nachher nachdem; time/3: während;
    allow/1: erlaubt* erlauben zulassen zugelassen darf dürfen; allow/2: verboten* verbieten untersagt* abgelehnt* ablehnen
    verweigert*; often/1: immer stets; often/2: nie niemals; often/3: manchmal; often/4: selten; often/5: oft häufig;
    bound/1: mindestens minimal* minimum wenigstens; bound/2: höchstens maximal* maximum; more/1: mehr höher* größer* über länger*
    schneller* erhöht* steigt oben neuer* später; more/2: weniger niedriger* kleiner* unter kürzer* langsamer* gesenkt* senkt
    sinkt unten älter* früher; true/1: ja wahr richtig gelingt; true/2: nein falsch scheitert; open/1: offen öffnet geöffnet;
    open/2: geschlossen schließt zu; start/1: startet beginnt gestartet; start/2: endet stoppt gestoppt; with/1: mit;
    with/2: ohne; all/1: alle jede jeder jedes; all/2: keine keiner kein; left/1: links linke*; left/2: rechts rechte*;
    public/1: öffentlich*; public/2: privat* intern* geheim*; write/1: schreibt; write/2: liest; and/1: und; and/2: oder'),
  ('fr', 'instead', 'on/1: activé* allumé*; on/2: désactivé* éteint*; time/1: avant; time/2: après; time/3: pendant;
    allow/1: autorisé* permis* accepté*; allow/2: interdit* refusé*; often/1: toujours; often/2: jamais; bound/1: moins minimum;
    bound/2: plus maximum; open/1: ouvert*; open/2: fermé*; true/1: oui vrai; true/2: non faux; with/1: avec; with/2: sans;
    left/1: gauche; left/2: droite'),
  ('es', 'instead', 'on/1: activad* habilitad* encendid*; on/2: desactivad* deshabilitad* inhabilitad* apagad*; time/1: antes;
    time/2: después; time/3: durante; allow/1: permitid* aceptad* permite; allow/2: prohibid* denegad* rechazad* prohíbe;
    often/1: siempre; often/2: nunca jamás; bound/1: mínimo menos menor; bound/2: máximo más mayor; open/1: abiert*;
    open/2: cerrad*; with/1: con; with/2: sin; left/1: izquierda; left/2: derecha'),
  ('it', 'instead', 'on/1: attivat* abilitat* acces*; on/2: disattivat* disabilitat* spent*; time/1: prima; time/2: dopo;
    allow/1: permess* consentit*; allow/2: vietat* negat*; often/1: sempre; often/2: mai; bound/1: minimo meno;
    bound/2: massimo più; open/1: apert*; open/2: chius*; with/1: con; with/2: senza'),
  ('pt', 'instead', 'on/1: ativad* habilitad* ligad*; on/2: desativad* desabilitad* desligad*; time/1: antes; time/2: depois após;
    allow/1: permitid*; allow/2: proibid* negad*; often/1: sempre; often/2: nunca; bound/1: mínimo menos; bound/2: máximo mais;
    open/1: abert*; open/2: fechad*; with/1: com; with/2: sem'),
  ('nl', 'instead', 'on/1: ingeschakeld* actief aan; on/2: uitgeschakeld* inactief uit; time/1: voor voordat; time/2: na nadat;
    allow/1: toegestaan; allow/2: verboden geweigerd; often/1: altijd; often/2: nooit; bound/1: minimaal minstens;
    bound/2: maximaal hoogstens; with/1: met; with/2: zonder; open/1: open; open/2: dicht gesloten'),
  ('pl', 'instead', 'on/1: włączon* aktywn*; on/2: wyłączon* nieaktywn*; time/1: przed; time/2: po; allow/1: dozwolon*;
    allow/2: zabronion*; often/1: zawsze; often/2: nigdy; bound/1: najmniej minim*; bound/2: najwyżej maks*; open/1: otwart*;
    open/2: zamknięt*'),
  ('cs', 'instead', 'on/1: zapnut* aktivní; on/2: vypnut* neaktivní; time/1: před; time/2: po; allow/1: povolen*;
    allow/2: zakázán*; often/1: vždy; often/2: nikdy; bound/1: nejméně minim*; bound/2: nejvýše maxim*; open/1: otevřen*;
    open/2: zavřen*'),
  ('ru', 'instead', 'on/1: включ* активн*; on/2: отключ* выключ* неактивн*; time/1: до перед; time/2: после; time/3: вовремя;
    allow/1: разреш* можно; allow/2: запрещ* нельзя; often/1: всегда; often/2: никогда; bound/1: минимум минимальн* менее меньше;
    bound/2: максимум максимальн* более больше; open/1: открыт*; open/2: закрыт*; with/1: с со; with/2: без'),
  ('uk', 'instead', 'on/1: увімкн* активн*; on/2: вимкн* неактивн*; time/1: до перед; time/2: після; allow/1: дозволен* можна;
    allow/2: заборонен*; often/1: завжди; often/2: ніколи; open/1: відкрит* відчинен*; open/2: закрит* зачинен*'),
  ('tr', 'instead', 'on/1: etkin açık; on/2: dışı kapalı; time/1: önce; time/2: sonra; often/1: zaman daima; often/2: asla;
    bound/1: az asgari; bound/2: fazla çok azami; have/1: var vardır; have/2: yok yoktur'),
  ('ar', 'instead', 'on/1: تفعيل مفعل مفعلة تشغيل; on/2: تعطيل معطل معطلة إيقاف; time/1: قبل; time/2: بعد; often/1: دائما;
    often/2: أبدا; allow/1: مسموح يسمح; allow/2: ممنوع يمنع; bound/1: الأدنى الأقل; bound/2: الأقصى الأكثر;
    open/1: مفتوح مفتوحا مفتوحة; open/2: مغلق مغلقا مغلقة'),
  ('he', 'instead', 'on/1: מופעל פעיל; on/2: מושבת כבוי; time/1: לפני; time/2: אחרי; often/1: תמיד; often/2: לעולם; allow/1: מותר;
    allow/2: אסור; open/1: פתוח פתוחה; open/2: סגור סגורה'),
  ('fa', 'instead', 'on/1: فعال روشن; on/2: غیرفعال خاموش; time/1: قبل پیش; time/2: بعد پس; often/1: همیشه; often/2: هرگز;
    allow/1: مجاز; allow/2: ممنوع'),
  ('hi', 'instead', 'on/1: चालू सक्षम सक्रिय; on/2: बंद अक्षम निष्क्रिय; time/1: पहले; time/2: बाद; often/1: हमेशा; often/2: कभी;
    bound/1: न्यूनतम; bound/2: अधिकतम'),
  ('zh', 'instead', 'time/1: 前; time/2: 后 後; on/1: 启用 开启 启动 有効 有效 オン; on/2: 停用 关闭 停止 無効 无效 オフ; open/1: 开 開; open/2: 关 關 閉 闭;
    allow/1: 允许 许可 許可; allow/2: 禁止 拒绝 拒否; side/1: 上; side/2: 下; hand/1: 左; hand/2: 右; size/1: 大 多 高 长 長 增 増 新 快 速 入;
    size/2: 小 少 低 短 减 減 旧 慢 遅 出; often/1: 总是 始终 常に 必ず; often/2: 从不 决不 決して; in/1: 内; in/2: 外'),
  ('ko', 'instead', 'time/1: 전에; time/2: 후에; often/1: 항상; often/2: 절대; allow/1: 허용; allow/2: 거부 금지; bound/1: 최소; bound/2: 최대;
    open/1: 열려 열린; open/2: 닫혀 닫힌'),
  ('sv', 'instead', 'on/1: aktiverad* på; on/2: inaktiverad* avaktiverad* av; time/1: före innan; time/2: efter; often/1: alltid;
    often/2: aldrig; allow/1: tillåt*; allow/2: förbjud*; open/1: öppen öppet; open/2: stängd stängt; with/1: med; with/2: utan'),
  ('da', 'instead', 'on/1: aktiveret; on/2: deaktiveret; time/1: før inden; time/2: efter etter; often/1: altid alltid;
    often/2: aldrig aldri; allow/1: tilladt tillatt; allow/2: forbudt; open/1: åben åpen; open/2: lukket stengt; with/1: med;
    with/2: uden uten'),
  ('fi', 'instead', 'on/1: päällä käytössä; on/2: pois; time/1: ennen; time/2: jälkeen; often/1: aina; often/2: koskaan;
    open/1: auki; open/2: kiinni; allow/1: sallittu; allow/2: kielletty'),
  -- Prefixes and endings that make the opposite of a word.
  ('mul', 'prefix', 'not: un in im il ir dis non de dé des dés mis anti ab mal ent on ne nie bez без бес не небез ni na epä ei غير
    لا ن نا بی אי בלתי अ अन ना नि nem de- o u a'),
  ('mul', 'prefixes', 'in/1: in im ein en em an auf up over pre on for hyper в вклю зап wł zap aan op vor ante head pro; in/2: de
    ex out aus dis ab zu down under post off back hypo вы отклю выклю вып wył vyp uit af neer nach counter anti'),
  ('mul', 'suffix', 'not: less free los frei sız siz suz süz ton tön loos lös løs mentes telen talan'),
  ('mul', 'suffixes', 'with/1: ful voll lı li lu lü full haltig more lich ige; with/2: less los sız siz suz süz free frei')
) as v (language, class, meanings)
cross join regexp_split_to_table(v.meanings, ';\s*') as m (entry)
cross join lateral regexp_split_to_table(split_part(m.entry, ': ', 2), '\s*\|\s*') with ordinality as half (words, place)
cross join lateral regexp_split_to_table(half.words, '\s+') as w (word)
where w.word <> '' on conflict do nothing;
