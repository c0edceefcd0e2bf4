import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const callersQuery = graphql(`
  query Callers {
    admin {
      actors(first: 500) {
        caller creator source role readableScopes writableScopes defaultProject readsPerMinute writesPerMinute canCleanUp
        isActive createdAt
      }
    }
    scopes(first: 200) { nodes { scope description isProjectScoped isActive } }
  }
`);
export type Caller = NonNullable<NonNullable<ResultOf<typeof callersQuery>['admin']>['actors']>[number];
export type ScopeRow = NonNullable<NonNullable<ResultOf<typeof callersQuery>['scopes']>['nodes'][number]>;

export const registerActor = graphql(`
  mutation RegisterActor(
    $caller: String! $readableScopes: [String] $writableScopes: [String] $defaultProject: String
    $readsPerMinute: Int $writesPerMinute: Int
  ) {
    admin {
      registerActor(
        caller: $caller, readableScopes: $readableScopes, writableScopes: $writableScopes, defaultProject: $defaultProject
        readsPerMinute: $readsPerMinute, writesPerMinute: $writesPerMinute
      ) { caller }
    }
  }
`);
export const deactivateActor = graphql(`
  mutation DeactivateActor($caller: String!) { admin { deactivateActor(caller: $caller) { isActive } } }
`);
export const reactivateActor = graphql(`
  mutation ReactivateActor($caller: String!) { admin { reactivateActor(caller: $caller) { isActive } } }
`);

export const keysQuery = graphql(`
  query Keys {
    admin {
      apiKeys(first: 500) { keyId name caller scopes projects toolSets createdAt createdBy expiresAt revokedAt }
      actors(first: 500) { caller isActive }
    }
  }
`);
export type ApiKey = NonNullable<NonNullable<ResultOf<typeof keysQuery>['admin']>['apiKeys']>[number];

export const createKey = graphql(`
  mutation CreateKey(
    $caller: String! $name: String! $scopes: [String] $projects: [String] $defaultProject: String $toolSets: [String]
    $expiresAt: Datetime
  ) {
    admin {
      createApiKey(
        caller: $caller, name: $name, scopes: $scopes, projects: $projects, defaultProject: $defaultProject
        toolSets: $toolSets, expiresAt: $expiresAt
      ) { apiKey keyId }
    }
  }
`);
export const revokeKey = graphql(`
  mutation RevokeKey($keyId: UUID!) { admin { revokeApiKey(keyId: $keyId) { revokedAt } } }
`);

export const registerScope = graphql(`
  mutation RegisterScope($scope: String!, $description: String, $isProjectScoped: Boolean) {
    admin { registerScope(scope: $scope, description: $description, isProjectScoped: $isProjectScoped) { scope } }
  }
`);
export const deactivateScope = graphql(`
  mutation DeactivateScope($scope: String!) { admin { deactivateScope(scope: $scope) { isActive } } }
`);
export const reactivateScope = graphql(`
  mutation ReactivateScope($scope: String!) { admin { reactivateScope(scope: $scope) { isActive } } }
`);

export const projectsQuery = graphql(`
  query Projects {
    getMemoryStats(projectId: "*") { byProject }
    admin {
      apiKeys(first: 500) { keyId name caller projects revokedAt }
      actors(first: 500) { caller defaultProject isActive }
      reviewRules(first: 500) { ruleId caller scope projectId kinds source needsReview specificity updatedAt }
    }
  }
`);
export type ProjectsData = ResultOf<typeof projectsQuery>;
export const projectQuery = graphql(`
  query Project($project: String!) { getMemoryStats(projectId: $project) { total byKind byScope byCreator oldest newest } }
`);

/** `kind` has all rules, because registering a kind again replaces them. */
export const registerKind = graphql(`
  mutation RegisterKind(
    $kind: String! $purpose: String $fields: JSON $titleField: String $textFields: [String] $identityFields: [String]
    $identityEndsWhen: JSON $lockedWhen: JSON $lockedFields: [String] $allowedWhenLocked: JSON $whenLocked: String
    $archivedFrom: String $archivedAfter: Duration $expiresFrom: String $expiresAfter: Duration $partOfKind: String
    $partOfField: String
  ) {
    admin {
      registerMemoryKind(
        kind: $kind, purpose: $purpose, fields: $fields, titleField: $titleField, textFields: $textFields
        identityFields: $identityFields, identityEndsWhen: $identityEndsWhen, lockedWhen: $lockedWhen
        lockedFields: $lockedFields, allowedWhenLocked: $allowedWhenLocked, whenLocked: $whenLocked
        archivedFrom: $archivedFrom, archivedAfter: $archivedAfter, expiresFrom: $expiresFrom, expiresAfter: $expiresAfter
        partOfKind: $partOfKind, partOfField: $partOfField
      ) { kind }
    }
  }
`);
export const kindRulesQuery = graphql(`
  query KindRules {
    memoryKinds(first: 100) {
      nodes {
        kindId kind purpose tenantId titleField textFields identityFields identityEndsWhen lockedWhen lockedFields
        allowedWhenLocked whenLocked archivedFrom archivedAfter expiresFrom expiresAfter partOfKind partOfField
        fields(first: 64) { nodes { field type isRequired meaning choices maxLength sha256Of parts place } }
      }
    }
  }
`);
export type KindRow = NonNullable<NonNullable<ResultOf<typeof kindRulesQuery>['memoryKinds']>['nodes'][number]>;

export const rulesQuery = graphql(`
  query ReviewRules {
    admin {
      reviewRules(first: 500) { ruleId caller scope projectId kinds source needsReview specificity updatedAt }
      reviewSettings { rejectedAgain }
    }
  }
`);
export type Rule = NonNullable<NonNullable<ResultOf<typeof rulesQuery>['admin']>['reviewRules']>[number];
export const setRule = graphql(`
  mutation SetReviewRule(
    $caller: String $scope: String $projectId: String $kinds: [String] $source: String $needsReview: Boolean!
  ) {
    admin {
      setReviewRule(
        caller: $caller, scope: $scope, projectId: $projectId, kinds: $kinds, source: $source, needsReview: $needsReview
      ) { ruleId }
    }
  }
`);
export const deleteRule = graphql(`
  mutation DeleteReviewRule($ruleId: UUID!) { admin { deleteReviewRule(ruleId: $ruleId) } }
`);
export const setGenerated = graphql(`
  mutation SetGeneratedReview($extraction: Boolean, $reflection: Boolean) {
    admin { setGeneratedReview(extraction: $extraction, reflection: $reflection) { nodes { ruleId } } }
  }
`);
export const setRejectedAgain = graphql(`
  mutation SetRejectedAgain($rejectedAgain: String!) { admin { setReviewSettings(rejectedAgain: $rejectedAgain) { rejectedAgain } } }
`);

export const secretsQuery = graphql(`
  query Secrets {
    admin {
      secretSettings { onSecret guardsPersonalData }
      secretPatterns(first: 500) { patternId name finds expression severity isActive tenantId }
      secretExceptions(first: 500) { exceptionId pattern expression reason isActive }
    }
  }
`);
export type Pattern = NonNullable<NonNullable<ResultOf<typeof secretsQuery>['admin']>['secretPatterns']>[number];
export type Exception = NonNullable<NonNullable<ResultOf<typeof secretsQuery>['admin']>['secretExceptions']>[number];
export const setSecretSettings = graphql(`
  mutation SetSecretSettings($onSecret: String, $guardsPersonalData: Boolean) {
    admin { setSecretSettings(onSecret: $onSecret, guardsPersonalData: $guardsPersonalData) { onSecret } }
  }
`);
export const registerPattern = graphql(`
  mutation RegisterPattern($name: String!, $finds: String!, $expression: String!, $keywords: [String], $severity: String) {
    admin {
      registerSecretPattern(name: $name, finds: $finds, expression: $expression, keywords: $keywords, severity: $severity) { name }
    }
  }
`);
export const deactivatePattern = graphql(`
  mutation DeactivatePattern($name: String!) { admin { deactivateSecretPattern(name: $name) { isActive } } }
`);
export const registerException = graphql(`
  mutation RegisterException($pattern: String, $expression: String!, $reason: String!) {
    admin { registerSecretException(pattern: $pattern, expression: $expression, reason: $reason) { exceptionId } }
  }
`);
export const deactivateException = graphql(`
  mutation DeactivateException($exceptionId: UUID!) { admin { deactivateSecretException(exceptionId: $exceptionId) { isActive } } }
`);

export const archiveQuery = graphql(`query ArchiveSettings { admin { archiveSettings { archiveFields } } }`);
export const setArchive = graphql(`
  mutation SetArchive($archiveFields: [String]!) { admin { setArchiveSettings(archiveFields: $archiveFields) { archiveFields } } }
`);

export const rankingQuery = graphql(`
  query Ranking {
    admin {
      searchSettings {
        lexicalWeight semanticWeight lexicalContextWeight semanticContextWeight chunkWeight threadWeight neighbourWeight
        speakerBoost minRelevance recencyBoost importanceBoost halfLifeDays languages
      }
      findSettings { matchWeight recencyWeight proximityWeight citationWeight halfLifeDays }
    }
    memoryKinds(first: 100) { nodes { kind } }
  }
`);
export type RankingData = ResultOf<typeof rankingQuery>;
export const setSearchSettings = graphql(`
  mutation SetSearchSettings(
    $lexicalWeight: Float $semanticWeight: Float $lexicalContextWeight: Float $semanticContextWeight: Float $chunkWeight: Float $threadWeight: Float
    $neighbourWeight: Float $speakerBoost: Float $minRelevance: Float $recencyBoost: Float $importanceBoost: Float
    $halfLifeDays: JSON $languages: [String]
  ) {
    admin {
      setSearchSettings(
        lexicalWeight: $lexicalWeight, semanticWeight: $semanticWeight, lexicalContextWeight: $lexicalContextWeight
        semanticContextWeight: $semanticContextWeight, chunkWeight: $chunkWeight
        threadWeight: $threadWeight, neighbourWeight: $neighbourWeight, speakerBoost: $speakerBoost, minRelevance: $minRelevance
        recencyBoost: $recencyBoost, importanceBoost: $importanceBoost, halfLifeDays: $halfLifeDays, languages: $languages
      ) { updatedAt }
    }
  }
`);
export const setFindSettings = graphql(`
  mutation SetFindSettings(
    $matchWeight: Float $recencyWeight: Float $proximityWeight: Float $citationWeight: Float $halfLifeDays: JSON
  ) {
    admin {
      setFindSettings(
        matchWeight: $matchWeight, recencyWeight: $recencyWeight, proximityWeight: $proximityWeight
        citationWeight: $citationWeight, halfLifeDays: $halfLifeDays
      ) { updatedAt }
    }
  }
`);
export const previewSearchQuery = graphql(`
  query PreviewSearch($query: String!, $weights: JSON) {
    previewSearch(query: $query, weights: $weights, k: 10, projectId: "*") { hits { packetId snippet content score } }
  }
`);
export const previewFindQuery = graphql(`
  query PreviewFind($query: String!, $weights: JSON) {
    admin { previewFind(query: $query, weights: $weights, k: 10) { packetId title content } }
  }
`);
