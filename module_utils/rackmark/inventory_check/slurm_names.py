"""Parameters of Slurm 22.05 to 26.05, without those that Rackmark writes from the inventory.

A cluster's own version knows fewer, and says so itself before a configuration is in force.
"""

from __future__ import annotations

_CONF_NUMBERS = """
AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout CompleteWait DefCPUPerGPU DefMemPerCPU DefMemPerGPU
DefMemPerNode EioTimeout EpilogMsgTime EpilogTimeout ExtSensorsFreq FairShareDampeningFactor FastSchedule FirstJobId
GetEnvTimeout GroupUpdateForce GroupUpdateTime HealthCheckInterval HealthCheckTimeout InactiveLimit JobCompPort
JobFileAppend JobRequeue KeepAliveTime KillOnBadExit KillWait MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount
MaxJobId MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MessageTimeout MinJobAge OverTimeLimit
PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition
PriorityWeightQOS PrologEpilogTimeout PrologTimeout PropagatePrioProcess ResumeRate ResumeTimeout ResvOverRun
ReturnToService SchedulerTimeSlice SlurmctldTimeout SlurmdPort SlurmdTimeout SlurmSchedLogLevel SuspendRate
SuspendTimeout TCPTimeout TreeWidth UnkillableStepTimeout VSizeFactor WaitTime
"""
_CONF_SWITCHES = """
AccountingStoreJobComment AllowSpecResourcesUsage DisableRootJobs PriorityFavorSmall TrackWCKey UsePAM
"""
_CONF_TEXTS = """
AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
AccountingStorageLoc AccountingStorageParameters AccountingStoragePass AccountingStorageTRES AccountingStorageType
AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType
AcctGatherInterconnectType AcctGatherProfileType AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr
BackupController BcastExclude BcastParameters BurstBufferParameters BurstBufferType CertgenParameters CertgenType
CertmgrParameters CertmgrType CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters ControlAddr
ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters DebugFlags
DependencyParameters DownNodes EnforcePartLimits Epilog EpilogSlurmctld ExtSensorsType FederationParameters GpuFreqDef
GresTypes HashPlugin HealthCheckNodeState HealthCheckProgram HttpParserType InteractiveStepOptions
JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass
JobCompPassScript JobCompType JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate
JobSubmitPlugins LaunchParameters LaunchType LicenseParameters Licenses LogTimeFormat MailDomain MailProg
MCSParameters MCSPlugin MetricsAuthUsers MetricsParameters MetricsType MpiDefault MpiParams NamespaceType
NodeFeaturesPlugins NodeSet PluginDir PlugStackConfig PowerAction PowerParameters PowerPlugin PreemptExemptTime
PreemptMode PreemptParameters PreemptType PrEpParameters PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife
PriorityFlags PriorityMaxAge PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType
PriorityUsageResetPeriod PriorityWeightTRES PrivateData ProctrackType Prolog PrologFlags PrologSlurmctld
PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold
ResumeFailProgram ResumeProgram ResvEpilog ResvProlog RoutePlugin SallocDefaultCommand SbcastParameters
SchedulerParameters SchedulerType ScronParameters SelectType SelectTypeParameters SlurmctldAddr SlurmctldDebug
SlurmctldHttpAuthParameters SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPlugstack SlurmctldPort
SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile
SlurmdParameters SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser SlurmSchedLogFile SlurmUser SrunEpilog
SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendTime
SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TLSParameters TLSType TmpFS TopologyParam
TopologyPlugin UnkillableStepProgram UrlParserType X11Parameters
"""
_PARTITION_NUMBERS = """
DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode GraceTime MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU
MaxMemPerNode MaxNodes MinNodes Priority PriorityJobFactor PriorityTier ResumeTimeout SuspendTimeout
"""
_PARTITION_SWITCHES = """
DisableRootJobs ExclusiveTopo ExclusiveUser Hidden LLN PowerDownOnIdle ReqResv RootOnly
"""
_PARTITION_TEXTS = """
AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefaultTime DenyAccounts DenyQos Exclusive MaxTime
OverSubscribe OverTimeLimit PreemptMode QOS SelectTypeParameters Shared State SuspendTime Topology TRESBillingWeights
"""
_NODE_NUMBERS = """
Boards CoreSpecCount CoresPerSocket CPUs MemSpecLimit Procs RealMemory RestrictedCoresPerGPU Sockets SocketsPerBoard
ThreadsPerCore TmpDisk Weight
"""
_NODE_TEXTS = """
BcastAddr CpuBind CPUSpecList Feature Features Gres GresConf NodeAddr NodeHostname Parameters Port Reason State
SuspendTime Topology TRESWeights
"""
_DBD_NUMBERS = """
CommitDelay DbdPort JobPurge MaxPurgeLimit MessageTimeout PurgeEventMonths PurgeJobMonths PurgeStepMonths
PurgeSuspendMonths PurgeTXNMonths PurgeUsageMonths StepPurge StoragePort TCPTimeout
"""
_DBD_SWITCHES = """
AllowNoDefAcct AllResourcesAbsolute ArchiveEvents ArchiveJobEnv ArchiveJobs ArchiveJobScript ArchiveResvs ArchiveSteps
ArchiveSuspend ArchiveTXN ArchiveUsage DisableArchiveCommands DisableCoordDBD DisableRollups TrackSlurmctldDown
TrackWCKey
"""
_DBD_TEXTS = """
ArchiveDir ArchiveScript AuthAltParameters AuthAltTypes AuthInfo AuthType CommunicationParameters DbdAddr
DbdBackupHost DbdHost DebugFlags DebugLevel DebugLevelSyslog DefaultQOS HashPlugin LogFile LogTimeFormat
MaxQueryTimeRange Parameters PidFile PluginDir PrivateData PurgeEventAfter PurgeJobAfter PurgeJobEnvAfter
PurgeJobScriptAfter PurgeResvAfter PurgeStepAfter PurgeSuspendAfter PurgeTXNAfter PurgeUsageAfter SlurmUser
StorageBackupHost StorageHost StorageLoc StorageParameters StoragePass StoragePassScript StorageType StorageUser
TLSParameters TLSType
"""


def _kinds(texts: str, numbers: str, switches: str = "") -> dict[str, str]:
    """The kind of each parameter by its name."""
    kinds = {"text": texts, "number": numbers, "switch": switches}
    return {name: kind for kind, names in kinds.items() for name in names.split()}


CONFIGURATION = _kinds(_CONF_TEXTS, _CONF_NUMBERS, _CONF_SWITCHES)
PARTITION = _kinds(_PARTITION_TEXTS, _PARTITION_NUMBERS, _PARTITION_SWITCHES)
NODE = _kinds(_NODE_TEXTS, _NODE_NUMBERS)
DATABASE = _kinds(_DBD_TEXTS, _DBD_NUMBERS, _DBD_SWITCHES)
